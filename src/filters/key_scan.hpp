// key_scan.hpp: all rows of a build, some at a time: threads make a word of each row's key, and
// then each of them sets the bits of its own part of a filter, so that none is written by two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/filters/make_filter.hpp"

namespace gpujoin::filters {

class KeyScan {
 public:
  // Throws MEMORY_LIMIT, OUT_OF_MEMORY.
  KeyScan(base::Queue& queue, const KeySource& source)
      : queue_(queue),
        workers_(queue),
        source_(source),
        chunk_rows_(chunk_rows(queue.context)),
        words_(queue.host_pool->allocate_rows<uint64_t>(
            base::Memory::kHost, static_cast<uint64_t>(chunk_rows_), "words of keys")),
        marks_(queue.host_pool->allocate(base::Memory::kHost, static_cast<uint64_t>(chunk_rows_),
                                         "marks of keys")) {}

  int32_t threads() const { return workers_.threads(); }
  // Of a chunk's rows: their hashes or positions, and a byte each.
  uint64_t* words() const { return words_.as<uint64_t>(); }
  uint8_t* marks() const { return marks_.as<uint8_t>(); }

  // of_chunk(columns, rows of the columns, first, count): their rows `first` to `first + count`.
  template <typename OfChunk>
  void for_chunks(const OfChunk& of_chunk) {
    source_.read(queue_, [&](std::span<const columns::ColumnView> columns, int64_t rows) {
      for (int64_t first = 0; first < rows; first += chunk_rows_) {
        queue_.check_cancelled();
        of_chunk(columns, rows, first, std::min(chunk_rows_, rows - first));
      }
    });
  }

  // of_item(first, count, worker) of parts of a chunk, side by side.
  template <typename OfItem>
  void for_items(int64_t count, const OfItem& of_item) {
    constexpr int64_t kItemRows = int64_t{1} << 13;
    workers_.for_each(kStage, (count + kItemRows - 1) / kItemRows, [&](int64_t i, int32_t worker) {
      int64_t const first = i * kItemRows;
      of_item(first, std::min(kItemRows, count - first), worker);
    });
  }

  // of_slice(first, end) of parts of the places of bits, side by side.
  template <typename OfSlice>
  void for_slices(uint64_t places, const OfSlice& of_slice) {
    auto const slices = static_cast<uint64_t>(workers_.threads());
    workers_.for_each(kStage, workers_.threads(), [&](int64_t i, int32_t) {
      auto const slice = static_cast<uint64_t>(i);
      of_slice(places * slice / slices, places * (slice + 1) / slices);
    });
  }

 private:
  static constexpr const char* kStage = "filter";

  // As many as keep all threads at work between two waits, within a small share of the limit.
  static int64_t chunk_rows(const base::Context& context) {
    constexpr int64_t kMostRows = int64_t{1} << 18;
    constexpr int64_t kLeastRows = int64_t{1} << 12;
    constexpr uint64_t kLimitShare = 32;
    uint64_t const limit = context.host_account->limit_bytes();
    if (limit == 0) return kMostRows;
    auto const rows = static_cast<int64_t>(limit / kLimitShare / (sizeof(uint64_t) + 1));
    return std::clamp(rows / 64 * 64, kLeastRows, kMostRows);
  }

  base::Queue& queue_;
  cpu::Workers workers_;
  const KeySource& source_;
  int64_t chunk_rows_;
  base::Buffer words_;
  base::Buffer marks_;
};

}  // namespace gpujoin::filters
