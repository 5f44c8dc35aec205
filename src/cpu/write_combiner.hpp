// write_combiner.hpp: one range's rows to their partitions, a cache line at a time.
//
// Each partition has a line in a small buffer. A row goes to its partition's line, and a full line
// goes to memory with one streamed write: 2^radix_bits open lines stay in the second cache instead
// of as many pages in the translation buffer.
//
//   next[p]  position in the target of the partition's next row
//   first[p] position of this range's first row in it: rows before it in a line are another range's
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/cpu/streaming.hpp"

namespace gpujoin::cpu {

struct CombinerState {
  std::byte* lines;     // 2^radix_bits lines, aligned
  uint32_t* next;       // 2^radix_bits
  uint32_t* first;      // 2^radix_bits
  std::byte* target;    // aligned to a line
  bool bypasses_cache;  // the target is too large to be found in the cache when it is read
};

// Rows that fit a line several times: 8, 16, 32 bytes, or once: 64.
template <uint32_t kRowBytes>
class WriteCombiner {
 public:
  static constexpr uint32_t kRowsOfLine = kLineBytes / kRowBytes;

  explicit WriteCombiner(const CombinerState& state) : state_(state) {}

  void add(uint32_t partition, const std::byte* row) {
    uint32_t const position = state_.next[partition]++;
    uint32_t const in_line = position % kRowsOfLine;
    std::byte* line = state_.lines + uint64_t{partition} * kLineBytes;
    std::memcpy(line + in_line * kRowBytes, row, kRowBytes);
    if (in_line == kRowsOfLine - 1) write_line(partition, line, position - in_line);
  }

  // The rows left in the lines of all partitions.
  void drain(uint32_t partitions) {
    for (uint32_t partition = 0; partition < partitions; ++partition) {
      uint32_t const end = state_.next[partition];
      uint32_t const line_first = end - end % kRowsOfLine;
      copy_part(partition, line_first, end);
    }
    finish_streaming();
  }

 private:
  void write_line(uint32_t partition, const std::byte* line, uint32_t line_first) {
    if (line_first < state_.first[partition]) {
      copy_part(partition, line_first, line_first + kRowsOfLine);
    } else if (state_.bypasses_cache) {
      stream_line(state_.target + uint64_t{line_first} * kRowBytes, line);
    } else {
      std::memcpy(state_.target + uint64_t{line_first} * kRowBytes, line, kLineBytes);
    }
  }

  // This range's rows of the partition from line_first to end - 1, all in one line.
  void copy_part(uint32_t partition, uint32_t line_first, uint32_t end) {
    uint32_t const own = state_.first[partition];
    uint32_t const from = line_first < own ? own : line_first;
    if (from >= end) return;
    std::byte const* line = state_.lines + uint64_t{partition} * kLineBytes;
    std::memcpy(state_.target + uint64_t{from} * kRowBytes, line + (from - line_first) * kRowBytes,
                uint64_t{end - from} * kRowBytes);
  }

  CombinerState state_;
};

}  // namespace gpujoin::cpu
