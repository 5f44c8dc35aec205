// aggregate_types.hpp: which aggregates a column has, and of which type they are.
#pragma once

#include <string>

#include "kernels/aggregate/numbers.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::execute {

// For example "sum".
const char* name_of_function(gpujoin_function function);
bool has_column(gpujoin_function function);

// The type of a column's values, for messages.
std::string type_of_values(const columns::ColumnView& column);

// Integers, decimals, floats.
bool has_sum(const columns::ColumnView& column);
// Types whose values have an order.
bool has_order(const columns::ColumnView& column);
// Values of up to 8 bytes whose order is that of numbers.
bool has_ordinals(const columns::ColumnView& column);
// Whose order is that of rows: bytes, bits, numbers of more bytes. expected: has_order.
kernels::RowsForm rows_form_of(const columns::ColumnView& column);
// expected: of a sum, or of ordinals.
kernels::Numbers numbers_of(const columns::ColumnView& column);

// The column that a count, sum, mean or EXISTS makes, without values. column: null where the
// function has none.
columns::ResultColumn total_like(const columns::Aggregate& aggregate,
                                 const columns::ColumnView* column);

}  // namespace gpujoin::execute
