// host_results.hpp: rows of results that come from the device chunk by chunk, and end up in host
// memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/output_rows.hpp"

namespace gpujoin::execute {

// Threads bring pieces of rows through page-locked memory, each by copies on the stream from the
// device, and write them where the CPU executor writes its output. The order of the pieces is that
// in which they arrive.
class HostResults {
 public:
  struct Column {
    uint32_t width = 0;
    bool nullable = false;
    bool is_probe_row = false;  // a row number of the chunk: its first row is added
  };
  // columns: row numbers of the left and of the right side, those that are asked for, then the
  // output columns.
  HostResults(base::Queue& queue, std::vector<Column> columns, uint64_t expected_rows);
  // Abandons what has not begun and waits for what has.
  ~HostResults();
  HostResults(const HostResults&) = delete;
  HostResults& operator=(const HostResults&) = delete;

  // Takes a chunk's result, which is complete on the device. Waits until the one before is in host
  // memory and lets go of it. Throws what went wrong in the threads, and CANCELLED.
  void add(std::unique_ptr<columns::JoinResult> chunk, int64_t first_probe_row);
  // All of it is in host memory: fills the pairs and the columns' values.
  void finish(columns::JoinResult& result);

 private:
  // A column's values and bits in a piece of page-locked memory.
  struct Place {
    uint64_t values = 0;
    uint64_t bits = 0;
  };
  struct Piece {
    uint64_t first = 0;
    uint64_t rows = 0;
  };
  struct Worker {
    base::Buffer piece;
    base::Event arrived{false};
  };

  void lay_out();
  void start_threads();
  void wait_for_chunk();
  void work(const std::stop_token& stop, Worker& worker);
  void fetch(const Piece& piece, Worker& worker);
  void write(const Piece& piece, std::byte* staged);
  const columns::Storage& values_of(size_t column) const;
  const columns::Storage& bits_of(size_t column) const;
  size_t pair_columns() const {
    return (chunk_->has_left_rows() ? 1U : 0U) + (chunk_->has_right_rows() ? 1U : 0U);
  }

  base::Queue& queue_;
  cudaStream_t stream_;
  std::vector<Column> columns_;
  std::unique_ptr<cpu::OutputRows> output_;
  uint64_t piece_rows_ = 0;
  uint64_t piece_bytes_ = 0;
  std::vector<Place> places_;

  std::unique_ptr<columns::JoinResult> chunk_;  // on its way
  uint64_t first_probe_row_ = 0;

  std::mutex mutex_;
  std::condition_variable_any work_to_do_;
  std::condition_variable written_;
  std::deque<Piece> pieces_;
  uint64_t unwritten_ = 0;
  std::exception_ptr failure_;

  // One piece on the link at a time: behind a stream that never runs dry, the small reads by which
  // a match learns its counts would wait for milliseconds.
  std::mutex link_;

  std::deque<Worker> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace gpujoin::execute
