#include "src/execute/host_results.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/status.hpp"
#include "src/base/streaming.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/workers.hpp"
#include "src/transfer/uploads.hpp"

namespace gpujoin::execute {

namespace {

constexpr uint64_t kPlaceAlignment = 64;
constexpr uint64_t kWordRows = 64;  // rows of a word of validity

uint64_t aligned(uint64_t bytes) {
  return (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

// A generous estimate is free, for memory that is never written to is never there; where even the
// address space is refused, a small start grows.
std::unique_ptr<cpu::OutputRows> make_output(base::Queue& queue,
                                             const std::vector<cpu::OutputShape>& shapes,
                                             uint64_t expected_rows) {
  try {
    return std::make_unique<cpu::OutputRows>(queue, shapes, expected_rows);
  } catch (const base::Error& error) {
    if (error.status() != GPUJOIN_ERROR_OUT_OF_MEMORY) throw;
  }
  return std::make_unique<cpu::OutputRows>(queue, shapes, 0);
}

}  // namespace

HostResults::HostResults(base::Queue& queue, std::vector<Column> columns, uint64_t expected_rows)
    : queue_(queue),
      stream_(base::copy_stream(queue, base::Direction::kFromDevice)),
      columns_(std::move(columns)) {
  std::vector<cpu::OutputShape> shapes;
  for (Column const& column : columns_) shapes.push_back({column.width, column.nullable});
  output_ = make_output(queue, shapes, expected_rows);
  lay_out();
}

HostResults::~HostResults() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
  // A failure here is a lost device, which the next checked call reports.
  cudaStreamSynchronize(stream_);
  cudaGetLastError();
}

void HostResults::lay_out() {
  uint64_t row_bits = 0;
  for (Column const& column : columns_) row_bits += 8 * column.width + (column.nullable ? 1 : 0);
  uint64_t const rows = 8 * transfer::kResultPieceBytes / std::max<uint64_t>(row_bits, 1);
  piece_rows_ = std::max(rows / kWordRows, uint64_t{1}) * kWordRows;
  for (Column const& column : columns_) {
    Place place;
    place.values = piece_bytes_;
    piece_bytes_ += aligned(piece_rows_ * column.width);
    place.bits = piece_bytes_;
    if (column.nullable) piece_bytes_ += aligned(piece_rows_ / 8);
    places_.push_back(place);
  }
}

const columns::Storage& HostResults::values_of(size_t column) const {
  size_t const pairs = pair_columns();
  if (column == 0 && chunk_->has_left_rows()) return chunk_->left_rows;
  if (column < pairs) return chunk_->right_rows;
  return chunk_->columns[column - pairs].data;
}

const columns::Storage& HostResults::bits_of(size_t column) const {
  return chunk_->columns[column - pair_columns()].validity;
}

void HostResults::start_threads() {
  size_t wanted = 0;
  {
    std::lock_guard const lock(mutex_);
    wanted = pieces_.size();
  }
  wanted = std::min({wanted, static_cast<size_t>(std::max(queue_.context.cpu_threads, 1)),
                     static_cast<size_t>(transfer::kResultThreads)});
  while (threads_.size() < wanted) {
    base::Buffer piece = queue_.device_pool->try_allocate(base::Memory::kPinned, piece_bytes_);
    if (!piece) {
      // CUDA's own copies into pageable memory come one after the other.
      if (!threads_.empty()) break;
      piece =
          queue_.host_pool->allocate(base::Memory::kHost, piece_bytes_, "a piece of the result");
    }
    Worker& worker = workers_.emplace_back();
    worker.piece = std::move(piece);
    threads_.emplace_back([this, &worker](const std::stop_token& stop) { work(stop, worker); });
  }
  work_to_do_.notify_all();
}

void HostResults::add(std::unique_ptr<columns::JoinResult> chunk, int64_t first_probe_row) {
  wait_for_chunk();
  chunk_ = std::move(chunk);
  first_probe_row_ = static_cast<uint64_t>(first_probe_row);
  auto const rows = static_cast<uint64_t>(chunk_->rows);
  {
    std::lock_guard const lock(mutex_);
    for (uint64_t first = 0; first < rows; first += piece_rows_) {
      pieces_.push_back({first, std::min(piece_rows_, rows - first)});
    }
    unwritten_ = pieces_.size();
  }
  if (rows != 0) start_threads();
}

void HostResults::wait_for_chunk() {
  std::unique_lock lock(mutex_);
  // Pieces take about a millisecond each; the request to cancel is looked for that often.
  while (unwritten_ != 0 && failure_ == nullptr) {
    written_.wait_for(lock, std::chrono::milliseconds(5));
    lock.unlock();
    queue_.check_cancelled();
    lock.lock();
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  chunk_ = nullptr;
}

void HostResults::work(const std::stop_token& stop, Worker& worker) {
  try {
    base::check(cudaSetDevice(queue_.context.device->id), "making the context's device current");
    for (;;) {
      Piece piece;
      {
        std::unique_lock lock(mutex_);
        if (!work_to_do_.wait(lock, stop, [this] { return !pieces_.empty(); })) return;
        if (stop.stop_requested()) return;
        piece = pieces_.front();
        pieces_.pop_front();
      }
      fetch(piece, worker);
      write(piece, worker.piece.as<std::byte>());
      std::lock_guard const lock(mutex_);
      if (--unwritten_ == 0) written_.notify_all();
    }
  } catch (...) {
    // The thread that waits for the rows throws it again.
    std::lock_guard const lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
    written_.notify_all();
  }
}

void HostResults::fetch(const Piece& piece, Worker& worker) {
  std::lock_guard const alone(link_);
  auto* const staged = worker.piece.as<std::byte>();
  auto const copy = [&](uint64_t to, const columns::Storage& from, uint64_t first, uint64_t bytes) {
    base::check(cudaMemcpyAsync(staged + to, static_cast<const std::byte*>(from.get()) + first,
                                bytes, cudaMemcpyDeviceToHost, stream_),
                "copying a piece of the result");
  };
  for (size_t i = 0; i < columns_.size(); ++i) {
    uint64_t const width = columns_[i].width;
    copy(places_[i].values, values_of(i), piece.first * width, piece.rows * width);
    if (!columns_[i].nullable) continue;
    uint64_t const words = (piece.rows + kWordRows - 1) / kWordRows;
    if (bits_of(i) == nullptr) {
      // No NULL in this chunk: ones, and zeros beyond the last row.
      std::vector<uint8_t> const valid = columns::all_valid(static_cast<int64_t>(piece.rows));
      std::memset(staged + places_[i].bits, 0, words * 8);
      std::memcpy(staged + places_[i].bits, valid.data(), valid.size());
      continue;
    }
    // The device has words of 4 bytes, the output of 8.
    std::memset(staged + places_[i].bits + (words - 1) * 8, 0, 8);
    copy(places_[i].bits, bits_of(i), piece.first / 8,
         columns::bitmap_words_bytes(static_cast<int64_t>(piece.rows)));
  }
  base::check(worker.arrived.try_record(stream_), "recording an event");
  base::check(worker.arrived.try_wait(), "waiting for a piece of the result");
}

void HostResults::write(const Piece& piece, std::byte* staged) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].is_probe_row) continue;
    auto* const rows = reinterpret_cast<uint32_t*>(staged + places_[i].values);
    auto const first = static_cast<uint32_t>(first_probe_row_);
    for (uint64_t row = 0; row < piece.rows; ++row) rows[row] += first;
  }
  for (uint64_t done = 0; done < piece.rows;) {
    auto const place = output_->claim(static_cast<uint32_t>(piece.rows - done));
    for (size_t i = 0; i < columns_.size(); ++i) {
      output_->write_values(place, i, staged + places_[i].values + done * columns_[i].width);
      if (!columns_[i].nullable) continue;
      const std::byte* const bits = staged + places_[i].bits;
      if (place.rows == piece.rows) {
        output_->write_bits(place, i, reinterpret_cast<const uint64_t*>(bits));
        continue;
      }
      // Part of a piece begins and ends in the middle of a word.
      std::vector<uint8_t> const part = columns::rebased(reinterpret_cast<const uint8_t*>(bits),
                                                         static_cast<int64_t>(done), place.rows);
      std::vector<uint64_t> words((place.rows + kWordRows - 1) / kWordRows);
      std::memcpy(words.data(), part.data(), part.size());
      output_->write_bits(place, i, words.data());
    }
    done += place.rows;
  }
  base::finish_streaming();
}

void HostResults::finish(columns::JoinResult& result) {
  wait_for_chunk();
  cpu::Workers workers(queue_);
  cpu::OutputRows::Finished finished = output_->finish(workers);
  result.memory = base::Memory::kHost;
  result.rows = static_cast<int64_t>(finished.rows);
  size_t next = 0;
  if (result.has_left_rows()) result.left_rows = std::move(finished.columns[next++].values);
  if (result.has_right_rows()) result.right_rows = std::move(finished.columns[next++].values);
  for (columns::ResultColumn& column : result.columns) {
    column.data = std::move(finished.columns[next].values);
    column.validity = std::move(finished.columns[next].bits);
    column.null_count = finished.columns[next++].null_count;
  }
}

}  // namespace gpujoin::execute
