// row_schema.hpp: what the batches of a relation that comes bit by bit have in common, and what
// their rows are once they are gathered.
//
// Gathered columns are values, bits from bit 0 on, or text from offset 0 on. Dictionaries and runs
// differ from batch to batch, so their rows become what their values are; views name buffers of
// their batch, so they become LARGE_UTF8 and LARGE_BINARY.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// Views without data, of no rows.
struct RowSchema {
  // Of gathered rows; the last one of row numbers, INT64, where there are any.
  std::vector<columns::ColumnView> columns;
  std::vector<columns::ColumnView> given;  // as batches have them
  bool has_row_numbers = false;
};

// Throws UNSUPPORTED for columns whose values are nested or unknown, which is said of columns[i].
std::shared_ptr<const RowSchema> make_row_schema(const columns::Relation& like,
                                                 bool has_row_numbers);

// Throws INVALID_ARGUMENT or TYPE, naming `argument` and the column, for a batch that has other
// columns. Dictionaries, how wide their indices are, and whether there are NULLs may differ.
void check_batch(const RowSchema& schema, const columns::Relation& batch, const char* argument);

// Whether a batch that check_batch let pass lies as gathered rows would, on the device, or is large
// enough to be copied there from where it lies: nothing picks rows of it, and no column names the
// values of another.
bool is_read_where_it_lies(const columns::Relation& batch);
// Of types whose values are compared as they are.
bool is_whole_number(gpujoin_type type);

// Whether a column of it lies there.
bool lies_on_device(const columns::Relation& batch);

// Most rows that a relation may have, less some for whoever counts one more.
inline constexpr int64_t kMostRowsOfRelation = int64_t{1} << 31;

// Of a row without NULLs and text, at least 1.
uint64_t bytes_of_row(const RowSchema& schema);

// Of text its offsets: where they end only the device knows.
uint64_t bytes_of_values(const columns::Relation& batch);

// A relation of gathered rows, of which there are none.
std::shared_ptr<const columns::Relation> relation_of(const RowSchema& schema,
                                                     std::shared_ptr<base::Context> context);

}  // namespace gpujoin::pieces
