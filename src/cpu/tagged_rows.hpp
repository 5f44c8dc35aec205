// tagged_rows.hpp: eight rows in a cache line, each with a tag of its hash: a bucket of a table.
//
//   slot (8 bytes):  | row 32 | tag 32: the hash's lower half, its lowest bit 0 |
//
// Slots are taken from the first on. A tag is looked for in all of them at once, without a branch:
// how far along a line a row lies nobody can predict.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpujoin::cpu {

struct alignas(64) TaggedRows {
  static constexpr uint32_t kSlots = 8;
  static constexpr uint64_t kFree = ~uint64_t{0};  // no row's number, and no tag

  static uint64_t slot_of(uint64_t hash, uint32_t row) { return (hash & ~uint64_t{1}) << 32 | row; }
  static uint32_t row_of(uint64_t slot) { return static_cast<uint32_t>(slot); }
  static bool have_one_tag(uint64_t slot, uint64_t other) { return (slot ^ other) >> 32 == 0; }

  // Bit i: slot i has the hash's tag. Nobody takes slots meanwhile.
  uint32_t with_tag(uint64_t hash) const {
    auto const tag = static_cast<uint32_t>(hash & ~uint64_t{1});
#if defined(__SSE2__)
    __m128i const wanted = _mm_set1_epi32(static_cast<int32_t>(tag));
    auto const pair = [this](int i) {
      return _mm_castsi128_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(slots + 2 * i)));
    };
    constexpr int kUpperHalves = 0b11'01'11'01;
    auto const four = [&](int i) {
      __m128 const tags = _mm_shuffle_ps(pair(i), pair(i + 1), kUpperHalves);
      return _mm_cmpeq_epi32(_mm_castps_si128(tags), wanted);
    };
    auto const found = [](__m128i equal) {
      return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(equal)));
    };
    return found(four(0)) | found(four(2)) << 4;
#else
    uint32_t found = 0;
    for (uint32_t i = 0; i < kSlots; ++i) {
      found |= uint32_t{static_cast<uint32_t>(slots[i] >> 32) == tag} << i;
    }
    return found;
#endif
  }
  bool is_full() const { return slots[kSlots - 1] != kFree; }

  uint64_t slots[kSlots];
};

}  // namespace gpujoin::cpu
