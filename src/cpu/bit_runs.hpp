// bit_runs.hpp: runs of validity bits into a bitmap that other threads write next to.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace gpujoin::cpu {

static_assert(std::endian::native == std::endian::little,
              "words of bits are bytes of bits only where the low byte comes first");

// `rows` bits of source from bit 0 on to the target from bit `first` on. The target's bits there
// are zero, and so are the source's bits after the last. The first and the last word may belong to
// two threads: or-ed atomically, in any order, for nobody reads them until all threads are done.
inline void write_bit_run(uint64_t* target, uint64_t first, const uint64_t* source, uint64_t rows) {
  uint64_t* const words = target + first / 64;
  uint32_t const shift = static_cast<uint32_t>(first % 64);
  uint64_t const source_words = (rows + 63) / 64;
  uint64_t const target_words = (shift + rows + 63) / 64;
  for (uint64_t i = 0; i < target_words; ++i) {
    uint64_t word = i < source_words ? source[i] << shift : 0;
    if (i > 0 && shift != 0) word |= source[i - 1] >> (64 - shift);
    if (i == 0 || i + 1 == target_words) {
      std::atomic_ref<uint64_t>(words[i]).fetch_or(word, std::memory_order_relaxed);
    } else {
      words[i] = word;
    }
  }
}

// Zero bits among the first `rows`.
inline int64_t count_zero_bits(const uint64_t* words, uint64_t rows) {
  int64_t ones = 0;
  for (uint64_t i = 0; i < (rows + 63) / 64; ++i) ones += std::popcount(words[i]);
  return static_cast<int64_t>(rows) - ones;
}

}  // namespace gpujoin::cpu
