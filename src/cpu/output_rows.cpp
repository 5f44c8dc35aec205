#include "src/cpu/output_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/status.hpp"
#include "src/base/streaming.hpp"
#include "src/cpu/bit_runs.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;

constexpr uint64_t kLeastSlabRows = 4096;
// A result takes its slab as it is unless more than this would be held for nothing.
constexpr uint64_t kSlackBytes = uint64_t{1} << 20;
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;  // of one task

uint64_t words_bytes(uint64_t rows) { return (rows + 63) / 64 * 8; }

}  // namespace

uint64_t OutputRows::Slab::rows() const {
  return std::min(claimed.load(std::memory_order_relaxed), capacity);
}

OutputRows::OutputRows(base::Queue& queue, std::vector<OutputShape> shapes, uint64_t expected_rows,
                       int64_t most_rows)
    : queue_(queue),
      shapes_(std::move(shapes)),
      most_rows_(most_rows == 0 ? UINT64_MAX : static_cast<uint64_t>(most_rows)),
      null_counts_(shapes_.size()) {
  // No more than may come out.
  slabs_.push_back(make_slab(std::max(std::min(expected_rows, most_rows_), kLeastSlabRows), 0));
  current_.store(slabs_.back().get(), std::memory_order_release);
}

std::unique_ptr<OutputRows::Slab> OutputRows::make_slab(uint64_t capacity, uint64_t before) const {
  base::Pool& pool = *queue_.host_pool;
  auto slab = std::make_unique<Slab>();
  slab->capacity = capacity;
  slab->before = before;
  for (OutputShape const& shape : shapes_) {
    slab->values.push_back(
        pool.allocate(Memory::kHost, base::checked_bytes(capacity, shape.width), "output column"));
    base::Buffer bits;
    if (shape.nullable) {
      bits = pool.allocate(Memory::kHost, words_bytes(capacity), "output validity");
      std::memset(bits.data(), 0, bits.bytes());
    }
    slab->bits.push_back(std::move(bits));
  }
  return slab;
}

void OutputRows::add_slab_after(const Slab* full) {
  std::lock_guard const lock(growing_);
  if (current_.load(std::memory_order_relaxed) != full) return;
  // Doubling bounds the number of slabs whatever the estimate was.
  uint64_t capacity = 0;
  for (auto const& slab : slabs_) capacity += slab->capacity;
  check_limit(capacity + 1);
  slabs_.push_back(make_slab(capacity, capacity));
  current_.store(slabs_.back().get(), std::memory_order_release);
}

void OutputRows::check_limit(uint64_t rows) const {
  if (rows <= most_rows_) return;
  base::fail(GPUJOIN_ERROR_ROW_LIMIT, "%llu rows or more", static_cast<unsigned long long>(rows));
}

OutputRows::Place OutputRows::claim(uint32_t rows) {
  for (;;) {
    Slab* slab = current_.load(std::memory_order_acquire);
    uint64_t const first = slab->claimed.fetch_add(rows, std::memory_order_relaxed);
    if (first < slab->capacity) {
      check_limit(slab->before + std::min(first + rows, slab->capacity));
      return {slab, first, static_cast<uint32_t>(std::min<uint64_t>(rows, slab->capacity - first))};
    }
    add_slab_after(slab);
  }
}

void OutputRows::write_values(const Place& place, size_t column, const std::byte* values) {
  uint64_t const width = shapes_[column].width;
  base::stream_bytes(place.slab->values[column].as<std::byte>() + place.first * width, values,
                     place.rows * width);
}

void OutputRows::write_bits(const Place& place, size_t column, const uint64_t* words) {
  write_bit_run(place.slab->bits[column].as<uint64_t>(), place.first, words, place.rows);
  int64_t const nulls = count_zero_bits(words, place.rows);
  if (nulls != 0) null_counts_[column].fetch_add(nulls, std::memory_order_relaxed);
}

base::Buffer OutputRows::join_values(Workers& workers, size_t column, uint64_t rows) {
  uint64_t const width = shapes_[column].width;
  base::Buffer joined = queue_.host_pool->allocate(Memory::kHost, rows * width, "output column");
  std::byte* target = joined.as<std::byte>();
  for (auto const& slab : slabs_) {
    uint64_t const bytes = slab->rows() * width;
    std::byte const* source = slab->values[column].as<std::byte>();
    auto const pieces = static_cast<int64_t>((bytes + kCopyBytes - 1) / kCopyBytes);
    workers.for_each("materialize", pieces, [&](int64_t piece, int32_t) {
      uint64_t const begin = static_cast<uint64_t>(piece) * kCopyBytes;
      base::stream_bytes(target + begin, source + begin, std::min(kCopyBytes, bytes - begin));
      base::finish_streaming();
    });
    target += bytes;
    slab->values[column] = {};
  }
  return joined;
}

base::Buffer OutputRows::join_bits(size_t column, uint64_t rows) {
  base::Buffer joined =
      queue_.host_pool->allocate(Memory::kHost, words_bytes(rows), "output validity");
  std::memset(joined.data(), 0, joined.bytes());
  uint64_t first = 0;
  for (auto const& slab : slabs_) {
    write_bit_run(joined.as<uint64_t>(), first, slab->bits[column].as<uint64_t>(), slab->rows());
    first += slab->rows();
    slab->bits[column] = {};
  }
  return joined;
}

OutputRows::Finished OutputRows::finish(Workers& workers) {
  Finished finished;
  uint64_t row_bytes = 0;
  for (OutputShape const& shape : shapes_) row_bytes += shape.width;
  for (auto const& slab : slabs_) finished.rows += slab->rows();
  uint64_t const rows = finished.rows;

  Slab& only = *slabs_.front();
  uint64_t const unused = only.capacity - only.rows();
  bool const as_it_is = slabs_.size() == 1 && (unused <= rows || unused * row_bytes <= kSlackBytes);
  finished.slabs = static_cast<int32_t>(slabs_.size());

  for (size_t column = 0; column < shapes_.size(); ++column) {
    Column result;
    result.null_count = null_counts_[column].load(std::memory_order_relaxed);
    if (rows != 0) {
      result.values = columns::make_storage(as_it_is ? std::move(only.values[column])
                                                     : join_values(workers, column, rows));
      if (result.null_count != 0) {
        result.bits = columns::make_storage(as_it_is ? std::move(only.bits[column])
                                                     : join_bits(column, rows));
      }
    }
    finished.columns.push_back(std::move(result));
  }
  return finished;
}

}  // namespace gpujoin::cpu
