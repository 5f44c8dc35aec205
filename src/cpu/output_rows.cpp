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
  uint64_t const rows = before + capacity;
  for (OutputShape const& shape : shapes_) {
    slab->values.push_back(
        pool.allocate(Memory::kHost, base::checked_bytes(rows, shape.width), "output column"));
    base::Buffer bits;
    if (shape.nullable) {
      bits = pool.allocate(Memory::kHost, words_bytes(rows), "output validity");
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
      return {slab, slab->before + first,
              static_cast<uint32_t>(std::min<uint64_t>(rows, slab->capacity - first))};
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

void OutputRows::copy_values(Workers& workers, const Slab& from, size_t column,
                             const base::Buffer& to) const {
  uint64_t const width = shapes_[column].width;
  uint64_t const bytes = from.rows() * width;
  std::byte const* const source = from.values[column].as<std::byte>() + from.before * width;
  std::byte* const target = to.as<std::byte>() + from.before * width;
  auto const pieces = static_cast<int64_t>((bytes + kCopyBytes - 1) / kCopyBytes);
  workers.for_each("materialize", pieces, [&](int64_t piece, int32_t) {
    uint64_t const begin = static_cast<uint64_t>(piece) * kCopyBytes;
    base::stream_bytes(target + begin, source + begin, std::min(kCopyBytes, bytes - begin));
    base::finish_streaming();
  });
}

void OutputRows::copy_bits(const Slab& from, size_t column, const base::Buffer& to) {
  uint64_t const end = from.before + from.rows();
  auto const* const source = from.bits[column].as<uint64_t>();
  auto* const target = to.as<uint64_t>();
  for (uint64_t word = from.before / 64; word < (end + 63) / 64; ++word) {
    target[word] |= source[word];
  }
}

void OutputRows::fill_last_slab(Workers& workers, size_t column) {
  Slab const& last = *slabs_.back();
  for (auto const& slab : slabs_) {
    if (slab.get() == &last) break;
    copy_values(workers, *slab, column, last.values[column]);
    if (shapes_[column].nullable) copy_bits(*slab, column, last.bits[column]);
    slab->values[column] = {};
    slab->bits[column] = {};
  }
}

base::Buffer OutputRows::fitting_values(Workers& workers, size_t column) const {
  Slab const& only = *slabs_.front();
  base::Buffer values = queue_.host_pool->allocate(
      Memory::kHost, only.rows() * shapes_[column].width, "output column");
  copy_values(workers, only, column, values);
  return values;
}

base::Buffer OutputRows::fitting_bits(size_t column) const {
  Slab const& only = *slabs_.front();
  base::Buffer bits =
      queue_.host_pool->allocate(Memory::kHost, words_bytes(only.rows()), "output validity");
  std::memset(bits.data(), 0, bits.bytes());
  copy_bits(only, column, bits);
  return bits;
}

OutputRows::Finished OutputRows::finish(Workers& workers) {
  Finished finished;
  uint64_t row_bytes = 0;
  for (OutputShape const& shape : shapes_) row_bytes += shape.width;
  Slab& last = *slabs_.back();
  uint64_t const rows = last.before + last.rows();
  uint64_t const unused = last.capacity - last.rows();
  // Of a slab that is not the first one never more is unused than there was before it.
  bool const as_it_is = unused <= rows || unused * row_bytes <= kSlackBytes;
  finished.rows = rows;
  finished.slabs = static_cast<int32_t>(slabs_.size());

  for (size_t column = 0; column < shapes_.size(); ++column) {
    Column result;
    result.null_count = null_counts_[column].load(std::memory_order_relaxed);
    result.room = as_it_is ? last.before + last.capacity : rows;
    if (rows != 0) {
      fill_last_slab(workers, column);
      result.values = columns::make_storage(as_it_is ? std::move(last.values[column])
                                                     : fitting_values(workers, column));
      if (result.null_count != 0) {
        result.bits =
            columns::make_storage(as_it_is ? std::move(last.bits[column]) : fitting_bits(column));
      }
    }
    finished.columns.push_back(std::move(result));
  }
  return finished;
}

}  // namespace gpujoin::cpu
