// radix_sort.hpp: rows in the order of some of their key's bits, equal ones as they were:
// partitions by the upper bits, cache lines at a time, then each in the cache by the lower ones. A
// partition that a heavy key or a few outliers leave large is partitioned again, by all threads.
//
// Paper    Polychroniou & Ross, SIGMOD 2014 (write combining, MSD over partitions, LSD in cache)
// Moves    two reads and a write of the rows for each partitioning; in cache a pass each 8 bits
//
// Row: 16 or 32 bytes; digit(shift) gives the key's bits from there on, the lowest ones first, of
// which at least kRadixDigitBits mean something.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/cpu/write_combiner.hpp"

namespace gpujoin::cpu {

inline constexpr int32_t kRadixDigitBits = 8;

template <typename Row>
class RadixSort {
 public:
  // rows, scratch: [count], aligned to kBufferBytes.
  RadixSort(base::Queue& queue, Workers& workers, const char* stage, Row* rows, Row* scratch)
      : queue_(queue), workers_(workers), stage_(stage), rows_(rows), scratch_(scratch) {}

  // By the bits [low, high) of the key. What is sorted lies in `rows`.
  void sort(uint64_t count, int32_t low, int32_t high) {
    sort_range(rows_, scratch_, 0, count, low, high, true);
  }

 private:
  static constexpr uint64_t kRowsInCache = 4096;
  static constexpr int32_t kMostPartitionBits = 11;
  static constexpr uint64_t kFewRows = 64;

  struct Part {
    uint64_t first;
    uint64_t end;
  };

  // In one thread. The rows lie in `at`, and end there where stays, in `other` else.
  static void sort_in_cache(Row* at, Row* other, uint64_t count, int32_t low, int32_t high,
                            bool stays) {
    bool is_at = true;
    if (count > kFewRows) {
      for (int32_t shift = low; shift < high; shift += kRadixDigitBits) {
        uint64_t const mask = (uint64_t{1} << std::min(kRadixDigitBits, high - shift)) - 1;
        Row* const from = is_at ? at : other;
        Row* const to = is_at ? other : at;
        std::array<uint32_t, 1 << kRadixDigitBits> places = {};
        for (uint64_t i = 0; i < count; ++i) ++places[from[i].digit(shift) & mask];
        if (places[from[0].digit(shift) & mask] == count) continue;
        uint32_t before = 0;
        for (uint32_t& place : places) before += std::exchange(place, before);
        for (uint64_t i = 0; i < count; ++i) to[places[from[i].digit(shift) & mask]++] = from[i];
        is_at = !is_at;
      }
    } else {
      std::stable_sort(at, at + count, [&](const Row& one, const Row& other_row) {
        return one.is_less(other_row, low, high);
      });
    }
    if (is_at != stays) {
      Row* const from = is_at ? at : other;
      std::copy(from, from + count, is_at ? other : at);
    }
  }

  // The rows lie in from[first..], and end in `from` where stays, in `to` else.
  void sort_range(Row* from, Row* to, uint64_t first, uint64_t count, int32_t low, int32_t high,
                  bool stays) {
    if (count <= kRowsInCache || high <= low) {
      return workers_.for_each(stage_, 1, [&](int64_t, int32_t) {
        sort_in_cache(from + first, to + first, count, low, std::max(low, high), stays);
      });
    }
    int32_t bits = 1;
    while (bits < std::min(kMostPartitionBits, high - low) && count >> bits > kRowsInCache) ++bits;
    int32_t const shift = high - bits;
    std::vector<uint32_t> const begins = partition(from, to, first, count, shift, bits);
    // So that one of them does not keep the others waiting.
    uint64_t const heavy = std::max<uint64_t>(
        16 * kRowsInCache, count / (4 * static_cast<uint64_t>(workers_.threads())));
    std::vector<Part> light;
    std::vector<Part> large;
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      Part const part{begins[i], begins[i + 1]};
      if (part.first == part.end) continue;
      (part.end - part.first > heavy && shift > low ? large : light).push_back(part);
    }
    // Neighbours of few rows together.
    constexpr size_t kPartsAtOnce = 8;
    workers_.for_each_range(stage_, light.size(), kPartsAtOnce, [&](uint64_t part, uint64_t end) {
      for (; part < end; ++part) {
        sort_in_cache(to + light[part].first, from + light[part].first,
                      light[part].end - light[part].first, low, shift, !stays);
      }
    });
    for (Part const& part : large) {
      sort_range(to, from, part.first, part.end - part.first, low, shift, !stays);
    }
  }

  // from[first..] to the same places of `to`. Answers where each partition begins, and the end.
  std::vector<uint32_t> partition(const Row* from, Row* to, uint64_t first, uint64_t count,
                                  int32_t shift, int32_t bits) {
    uint64_t const partitions = uint64_t{1} << bits;
    uint64_t const mask = partitions - 1;
    auto const ranges = static_cast<uint64_t>(workers_.threads()) * 4;
    uint64_t const each = std::max(64 * partitions, (count + ranges - 1) / ranges);
    auto const range_count = static_cast<int64_t>((count + each - 1) / each);
    std::vector<uint32_t> counts(static_cast<size_t>(range_count) * partitions, 0);
    auto const rows_of = [&](int64_t range) {
      uint64_t const begin = first + static_cast<uint64_t>(range) * each;
      return Part{begin, std::min(first + count, begin + each)};
    };
    workers_.for_each(stage_, range_count, [&](int64_t range, int32_t) {
      uint32_t* const of_range = &counts[static_cast<size_t>(range) * partitions];
      Part const rows = rows_of(range);
      for (uint64_t i = rows.first; i < rows.end; ++i) ++of_range[from[i].digit(shift) & mask];
    });
    std::vector<uint32_t> begins(partitions + 1);
    auto before = static_cast<uint32_t>(first);
    for (uint64_t p = 0; p < partitions; ++p) {
      begins[p] = before;
      for (int64_t range = 0; range < range_count; ++range) {
        before += std::exchange(counts[static_cast<size_t>(range) * partitions + p], before);
      }
    }
    begins[partitions] = before;
    std::vector<base::Buffer> blocks(static_cast<size_t>(workers_.threads()));
    uint64_t const block_bytes = partitions * (kBufferBytes + sizeof(uint32_t));
    workers_.for_each(stage_, range_count, [&](int64_t range, int32_t worker) {
      base::Buffer& block = blocks[static_cast<size_t>(worker)];
      if (!block) {
        block = queue_.host_pool->allocate(base::Memory::kHost, block_bytes, "partition buffers");
      }
      auto* const own =
          reinterpret_cast<uint32_t*>(block.as<std::byte>() + partitions * kBufferBytes);
      uint32_t* const next = &counts[static_cast<size_t>(range) * partitions];
      std::copy(next, next + partitions, own);
      WriteCombiner<sizeof(Row)> combiner(
          {block.as<std::byte>(), next, own, reinterpret_cast<std::byte*>(to), true});
      Part const rows = rows_of(range);
      for (uint64_t i = rows.first; i < rows.end; ++i) {
        combiner.add(static_cast<uint32_t>(from[i].digit(shift) & mask),
                     reinterpret_cast<const std::byte*>(&from[i]));
      }
      combiner.drain(static_cast<uint32_t>(partitions));
    });
    return begins;
  }

  base::Queue& queue_;
  Workers& workers_;
  const char* stage_;
  Row* rows_;
  Row* scratch_;
};

}  // namespace gpujoin::cpu
