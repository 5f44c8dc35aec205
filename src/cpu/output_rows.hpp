// output_rows.hpp: where the result goes while its size is not known yet.
//
// Tasks claim exactly the rows that they are about to write from one counter, a batch at a time, so
// the columns have no holes, nothing is probed twice, and the counter is hardly contended. A slab
// holds the columns for a number of rows; memory that is never written to costs nothing, so the
// first one is generous. When it is full a second one follows, behind room for the rows of all
// before it. finish() copies those there, half of the output or less: a wrong estimate is slower,
// never incorrect.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct OutputShape {
  uint32_t width = 0;
  bool nullable = false;
};

class OutputRows {
 public:
  // Throws when there is no memory for expected_rows. most_rows: one more and the join ends with
  // ROW_LIMIT; 0 = any number.
  OutputRows(base::Queue& queue, std::vector<OutputShape> shapes, uint64_t expected_rows,
             int64_t most_rows = 0);

  struct Slab {
    uint64_t capacity = 0;             // without the rows before
    uint64_t before = 0;               // rows of the slabs before it, for which it begins with room
    std::atomic<uint64_t> claimed{0};  // may pass the capacity
    std::vector<base::Buffer> values;  // of each column
    std::vector<base::Buffer> bits;    // of each nullable column, else empty; zero until written

    uint64_t rows() const;
  };
  struct Place {
    Slab* slab = nullptr;
    uint64_t first = 0;
    uint32_t rows = 0;
  };

  // Room for at least one and at most `rows` rows. Any thread. Throws ROW_LIMIT.
  Place claim(uint32_t rows);
  // Room for so many rows at a place of the caller's choice, in the place of claims: each row of
  // expected_rows once, in the end. Any thread.
  Place at(uint64_t first, uint32_t rows) {
    slabs_.front()->claimed.fetch_add(rows, std::memory_order_relaxed);
    return {slabs_.front().get(), first, rows};
  }

  // Values of one column, from `first` of the place on.
  void write_values(const Place& place, size_t column, const std::byte* values);
  // Validity of one column; bits beyond place.rows are zero.
  void write_bits(const Place& place, size_t column, const uint64_t* words);

  struct Column {
    columns::Storage values;
    columns::Storage bits;  // null: no NULLs
    int64_t null_count = 0;
    uint64_t room = 0;  // rows that there is memory for
  };
  struct Finished {
    uint64_t rows = 0;
    int32_t slabs = 0;
    std::vector<Column> columns;
  };
  // Once, after all tasks have ended.
  Finished finish(Workers& workers);

 private:
  std::unique_ptr<Slab> make_slab(uint64_t capacity, uint64_t before) const;
  void check_limit(uint64_t rows) const;
  void add_slab_after(const Slab* full);
  // Copies the slab's rows of one column.
  void copy_values(Workers& workers, const Slab& from, size_t column, const base::Buffer& to) const;
  // Its validity, where there are zeros.
  static void copy_bits(const Slab& from, size_t column, const base::Buffer& to);
  // The rows of the slabs before the last one to where it has room for them.
  void fill_last_slab(Workers& workers, size_t column);
  base::Buffer fitting_values(Workers& workers, size_t column) const;
  base::Buffer fitting_bits(size_t column) const;

  base::Queue& queue_;
  std::vector<OutputShape> shapes_;
  uint64_t most_rows_;
  std::vector<std::atomic<int64_t>> null_counts_;
  std::mutex growing_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::atomic<Slab*> current_{nullptr};
};

}  // namespace gpujoin::cpu
