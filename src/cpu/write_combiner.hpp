// write_combiner.hpp: one range's rows to their partitions, whole cache lines at a time.
//
// Each partition has a buffer of two lines. A row goes to its partition's buffer, and a full one
// goes to memory with streamed writes: the open lines of 2^radix_bits partitions stay in the second
// cache instead of as many pages in the translation buffer. Two lines rather than one, because
// whether a row fills them cannot be predicted: half as often is a tenth of the pass less.
//
//   next[p]  position in the target of the partition's next row
//   first[p] position of this range's first row in it: rows before it in a line are another range's
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/streaming.hpp"

namespace gpujoin::cpu {

// Of each partition; the target is aligned to it.
inline constexpr uint32_t kBufferBytes = 2 * base::kLineBytes;

struct CombinerState {
  std::byte* buffers;  // 2^radix_bits, aligned to a line
  uint32_t* next;      // 2^radix_bits
  uint32_t* first;     // 2^radix_bits
  std::byte* target;
  bool bypasses_cache;  // the target is too large to be found in the cache when it is read
};

// Rows that fit a buffer several times: of 8, 16, 32 bytes.
template <uint32_t kRowBytes>
class WriteCombiner {
 public:
  static constexpr uint32_t kRowsOfBuffer = kBufferBytes / kRowBytes;

  explicit WriteCombiner(const CombinerState& state) : state_(state) {}

  // stays: else the next row of the partition takes its place, which is faster than a branch that
  // nobody can foresee.
  void add(uint32_t partition, const std::byte* row, bool stays = true) {
    uint32_t const position = state_.next[partition];
    state_.next[partition] = position + (stays ? 1 : 0);
    uint32_t const in_buffer = position % kRowsOfBuffer;
    std::byte* buffer = state_.buffers + uint64_t{partition} * kBufferBytes;
    std::memcpy(buffer + in_buffer * kRowBytes, row, kRowBytes);
    if (in_buffer == kRowsOfBuffer - 1 && stays) write(partition, buffer, position - in_buffer);
  }

  // The rows left in the buffers of all partitions.
  void drain(uint32_t partitions) {
    for (uint32_t partition = 0; partition < partitions; ++partition) {
      uint32_t const end = state_.next[partition];
      copy_part(partition, end - end % kRowsOfBuffer, end);
    }
    base::finish_streaming();
  }

 private:
  void write(uint32_t partition, const std::byte* buffer, uint32_t buffer_first) {
    std::byte* target = state_.target + uint64_t{buffer_first} * kRowBytes;
    if (buffer_first < state_.first[partition]) {
      copy_part(partition, buffer_first, buffer_first + kRowsOfBuffer);
    } else if (state_.bypasses_cache) {
      for (uint32_t at = 0; at < kBufferBytes; at += base::kLineBytes) {
        base::stream_line(target + at, buffer + at);
      }
    } else {
      std::memcpy(target, buffer, kBufferBytes);
    }
  }

  // This range's rows of the partition from buffer_first to end - 1, all in its buffer.
  void copy_part(uint32_t partition, uint32_t buffer_first, uint32_t end) {
    uint32_t const own = state_.first[partition];
    uint32_t const from = buffer_first < own ? own : buffer_first;
    if (from >= end) return;
    std::byte const* buffer = state_.buffers + uint64_t{partition} * kBufferBytes;
    std::memcpy(state_.target + uint64_t{from} * kRowBytes,
                buffer + (from - buffer_first) * kRowBytes, uint64_t{end - from} * kRowBytes);
  }

  CombinerState state_;
};

}  // namespace gpujoin::cpu
