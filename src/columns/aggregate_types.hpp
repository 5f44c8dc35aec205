// aggregate_types.hpp: which aggregates a column has, and of which type they are.
#pragma once

#include <string>

#include "kernels/aggregate/numbers.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// For example "sum".
const char* name_of_function(gpujoin_function function);
bool has_column(gpujoin_function function);

// The values of a dictionary or of runs, of any depth; else the column.
const ColumnView& values_inside(const ColumnView& column);

// Integers, decimals, floats.
bool has_sum(const ColumnView& column);
// Types whose values have an order.
bool has_order(const ColumnView& column);
// Values of up to 8 bytes whose order is that of numbers.
bool has_ordinals(const ColumnView& column);
// Whose order is that of rows: bytes, bits, numbers of more bytes. expected: has_order.
kernels::RowsForm rows_form_of(const ColumnView& column);
// expected: of a sum, or of ordinals.
kernels::Numbers numbers_of(const ColumnView& column);

// The column that a count, sum, mean or EXISTS makes, without values. column: null where the
// function has none.
ResultColumn total_like(const Aggregate& aggregate, const ColumnView* column);

}  // namespace gpujoin::columns
