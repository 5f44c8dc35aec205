// output_size.hpp: how many rows and bytes a join puts out, and the most that its caller wants.
//
// Bytes are those of the output columns and row numbers: values, offsets of text and its bytes, and
// a bit a row for the validity of a column that may be NULL: one that has validity, or whose side
// may have no row; of groups one that has a NULL. Dictionaries and buffers of views stay the
// caller's and count nothing. So the size is that of the rows, whatever plan they come from.
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

struct OutputText {
  bool of_left = false;
  int32_t column = 0;
};

// What rows of an output take.
struct RowSize {
  uint64_t fixed_bytes = 0;       // of each row
  uint64_t bits = 0;              // of each row; those of a column fill whole bytes
  uint64_t offset_bytes = 0;      // of each row and once more, where there are rows
  std::vector<OutputText> texts;  // whose bytes depend on the rows

  // Without those of text. UINT64_MAX: more than can be counted.
  uint64_t bytes_of(uint64_t rows) const;
  // The most rows that take no more.
  uint64_t rows_within(uint64_t bytes) const;
};

// spec: what was asked for, with all its columns.
RowSize row_size_of(const columns::Relation& left, const columns::Relation& right,
                    const columns::JoinSpec& spec);

// What the executors may write before it is known that a limit is passed: 0, any number. Of kinds
// whose rows are not those that executors write none.
int64_t early_row_limit(const PlannedJoin& join);

// Throws ROW_LIMIT or BYTE_LIMIT where a join of so many output rows passes a limit. text_bytes:
// as far as they are known.
void check_limits(const PlannedJoin& join, int64_t rows, uint64_t text_bytes = 0);

// Throws ROW_LIMIT, BYTE_LIMIT or BROKEN_PROMISE for a join whose rows come in parts, of which
// there are so many so far.
void check_bounds(const columns::Bounds& bounds, int64_t rows, uint64_t bytes);

// The same of groups, of which a result has as many rows.
void check_group_limits(const PlannedJoin& join, const columns::JoinResult& result);
// Bytes of a result's columns and row numbers as they are.
uint64_t bytes_of_result(const columns::JoinResult& result);

// Throws what check_limits would, of an executor that stopped at its early_row_limit. found: of its
// error.
[[noreturn]] void fail_early(const PlannedJoin& join, const char* found);

}  // namespace gpujoin::execute
