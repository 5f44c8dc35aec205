// marks.hpp: one bit a row of a side: whether it had a match.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

class RowMarks {
 public:
  // Of rows 0, 1, ... rows - 1, none of which is marked.
  RowMarks(base::Queue& queue, uint32_t rows);

  // rows: [count] on the device, in any order, any number of times. Queued on the stream.
  void mark(const uint32_t* rows, uint64_t count);

  // How many rows are marked. Waits for the stream.
  uint32_t count();

  // Numbers of the rows that are marked, or of those that are not, ascending.
  struct Rows {
    base::Buffer numbers;  // [count] uint32
    uint32_t count = 0;
  };
  // Waits for the stream.
  Rows marked() { return select(true, count()); }
  Rows unmarked() { return select(false, rows_ - count()); }

  // Bit row % 32 of word row / 32. Those beyond the rows are 0.
  const uint32_t* words() const { return words_.as<uint32_t>(); }
  uint32_t rows() const { return rows_; }

 private:
  Rows select(bool are_marked, uint32_t count);

  base::Queue& queue_;
  uint32_t rows_;
  base::Buffer words_;
};

}  // namespace gpujoin::keys
