// side_marks.hpp: what the joins of some pieces say of the rows of one side: which had a match, and
// of which it is unknown. Marks of joins with parts of the other side, or-ed, are those of the join
// with all of it: x IN (A or B) is x IN A OR x IN B, three-valued.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::pieces {

class SideMarks {
 public:
  // None is marked. pool: of host memory; throws what it does.
  SideMarks(base::Pool& pool, int64_t rows, bool may_be_unknown);

  // Rows of a result, where it lies, that lie `first_row` behind row 0 and of which there are
  // `rows`; each any number of times. may_miss: there is GPUJOIN_NO_ROW among them, which is none.
  // Any thread.
  void mark(base::Queue& queue, base::Memory memory, const columns::Storage& numbers, int64_t count,
            bool may_miss, int64_t first_row, int64_t rows);
  // The same, and one of the rows that were marked before or come twice.
  std::optional<int64_t> mark_once(base::Queue& queue, base::Memory memory,
                                   const columns::Storage& numbers, int64_t count,
                                   int64_t first_row);
  // The column of a mark join of `rows` rows. Any thread. expected: first_row % 32 == 0.
  void mark(base::Queue& queue, base::Memory memory, const columns::ResultColumn& marks,
            int64_t rows, int64_t first_row);

  // One row. Any thread.
  void mark(int64_t row);

  int64_t rows() const { return rows_; }
  // Whether it is. After all that mark.
  bool is_marked(int64_t row) const { return (matched()[row / 32] >> (row % 32) & 1) != 0; }
  // [rows] bits, 1: true; in whole words, those beyond the rows are 0.
  const uint32_t* matched() const { return matched_.as<uint32_t>(); }
  // [rows] bits, 1: neither true nor false unless it is matched; null where all are known.
  const uint32_t* unknown() const { return unknown_.as<uint32_t>(); }

 private:
  int64_t rows_;
  base::Buffer matched_;
  base::Buffer unknown_;
};

}  // namespace gpujoin::pieces
