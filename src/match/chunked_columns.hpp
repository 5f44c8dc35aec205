// chunked_columns.hpp: output columns that a match writes itself, chunk by chunk: their room, and
// what became of them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/match/carried_columns.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::match {

// One output column. Its memory is allocated and handed to `target`.
struct CarriedOutput {
  const void* source = nullptr;  // [rows] in the order of its side's keys; of a key: null
  int32_t width = 0;
  kernels::CarriedFrom from = kernels::CarriedFrom::kKey;
  columns::Storage* target = nullptr;
};

// Throws INTERNAL when there are more than a launch writes.
void check_count(const std::vector<CarriedOutput>& outputs);

// Of every column but the keys, 4 or 8; 0: they are of other widths, or of several. Without such a
// column 4.
int32_t common_width(const std::vector<CarriedOutput>& outputs);
// The same for joins of partitions; 0 also where keys of 8 bytes are put out by codes of 4: the
// kernels of columns of 4 bytes write none.
int32_t column_width(const std::vector<CarriedOutput>& outputs, int32_t key_width);
// Bytes of a row of all columns.
uint64_t row_width(const std::vector<CarriedOutput>& outputs);

struct WrittenRows {
  uint64_t rows = 0;
  uint64_t room = 0;      // rows that each column has memory for
  int32_t launches = 0;   // more than one: the output was larger than expected
  int32_t followers = 0;  // of partitions: of the last launch, for what it left
  // Among them, rows that have no row of the side.
  uint64_t without_build = 0;
  uint64_t without_probe = 0;
};

// expect, then start, a launch and collect, and others that go on where it ended; until all is
// collected, require and start anew. Then finish.
class ChunkedColumns {
 public:
  // outputs: outlives this. behind: rows for which the caller wants room behind those written.
  // most_rows: more end the join with ROW_LIMIT; 0 = any number.
  ChunkedColumns(base::Queue& queue, const std::vector<CarriedOutput>& outputs, uint64_t behind = 0,
                 uint64_t most_rows = 0);

  // Room for so many rows, or as many as memory allows. blocks: of all launches, each leaves a
  // chunk partly empty.
  void expect(uint64_t rows, uint64_t blocks);
  // Room for the rows that launches found, in launches of as many blocks or of so many. Throws
  // OUT_OF_MEMORY or MEMORY_LIMIT.
  void require(uint32_t blocks);

  // Join: kernels::CarriedJoin, RowsWithoutMatch, TableJoin or PartsJoin.
  template <typename Join>
  void start(Join* join) {
    start_counters();
    go_on(join);
  }
  // Another join's launch writes behind what was written since the start.
  template <typename Join>
  void go_on(Join* join) const {
    join->counters = counters_.as<kernels::CarriedCounters>();
    join->tails = tails_.as<unsigned long long>();
    join->chunk = chunk_;
    join->capacity = room_;
    join->column_count = static_cast<int32_t>(outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      join->columns[i] = {outputs_[i].source, columns_[i].data(), outputs_[i].width,
                          outputs_[i].from};
    }
  }
  // Before each launch, of which five may follow a start.
  void add_launch(uint32_t blocks);
  // Waits for the launches. False: rows() of them were found, for which there is no room. After the
  // last one there are no holes.
  bool collect();
  uint64_t rows() const { return done_.rows; }
  uint64_t room() const { return room_; }
  // Places of which a block of a launch may leave all but one empty.
  uint64_t chunk() const { return chunk_; }
  // The last launch left partitions to another, which goes on where it ended.
  bool any_left() const { return found_.left != 0; }
  // Hands the columns over.
  WrittenRows finish();

 private:
  uint64_t whole_chunks(uint64_t rows) const;
  bool try_make_room(uint64_t rows);
  [[noreturn]] void fail(uint64_t rows) const;
  void start_counters();

  base::Queue& queue_;
  const std::vector<CarriedOutput>& outputs_;
  std::vector<base::Buffer> columns_;
  uint64_t behind_;
  uint64_t most_rows_;
  uint64_t room_ = 0;
  uint32_t chunk_ = kernels::kCarriedChunk;
  uint64_t blocks_ = 0;  // of the launches since start
  base::Buffer counters_;
  base::Buffer tails_;
  kernels::CarriedCounters found_{};
  WrittenRows done_;
};

}  // namespace gpujoin::match
