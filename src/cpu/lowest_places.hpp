// lowest_places.hpp: rows p < first with q < second, each in a few steps down a tree of minima.
//
// Source   a range minimum decides whether a block holds any such row (priority search trees,
//          McCreight 1985), here with 16 children a node, which are one cache line
//
// Of 16 neighbours in the order of p the lowest q is kept, of 16 such the lowest, and so on. A node
// is looked at only where its lowest q is below `second`: each row that is found costs a node a
// level at most, and where none is, the path to `first` ends early. Memory: a fifteenth of the
// rows.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpujoin::cpu {

class LowestPlaces {
 public:
  static constexpr uint32_t kChildBits = 4;
  static constexpr uint32_t kChildren = 1U << kChildBits;

  // Places of a level that belong to no row are UINT32_MAX; of the lowest one, too.
  static constexpr uint64_t padded(uint64_t count) { return (count / kChildren + 1) * kChildren; }

  // seconds: [padded(count)] q of each p; it outlives this. Less than 2^32 rows.
  LowestPlaces(base::Queue& queue, Workers& workers, const uint32_t* seconds, uint64_t count);

  // found(p of the first of 16 rows, a bit for each of them) for all groups that have some.
  template <typename Found>
  void visit(uint32_t first, uint32_t second, const Found& found) const {
    for (auto level = static_cast<uint32_t>(levels_.size()); level-- > 0;) {
      uint32_t const cut = first >> (kChildBits * level);  // the child with `first` in it
      uint32_t const node = cut / kChildren;
      uint32_t const whole = (1U << (cut % kChildren)) - 1;
      uint32_t const below = children_below(level, node, second);
      if ((below & whole) != 0) visit_children(level, node, below & whole, second, found);
      if ((below & (whole + 1)) == 0) return;
    }
  }

 private:
  template <typename Found>
  void visit_children(uint32_t level, uint32_t node, uint32_t children, uint32_t second,
                      const Found& found) const {
    if (level == 0) return found(node * kChildren, children);
    for (; children != 0; children &= children - 1) {
      uint32_t const child = node * kChildren + static_cast<uint32_t>(std::countr_zero(children));
      visit_children(level - 1, child, children_below(level - 1, child, second), second, found);
    }
  }

  // A bit for each child whose lowest q is less.
  uint32_t children_below(uint32_t level, uint32_t node, uint32_t second) const {
    const uint32_t* const lows = levels_[level] + uint64_t{node} * kChildren;
#if defined(__SSE2__)
    // Unsigned numbers compare as signed ones with their highest bit turned round.
    __m128i const sign = _mm_set1_epi32(INT32_MIN);
    __m128i const bound = _mm_xor_si128(_mm_set1_epi32(static_cast<int32_t>(second)), sign);
    auto const four_below = [&](uint32_t at) {
      __m128i const four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lows + at));
      return _mm_cmplt_epi32(_mm_xor_si128(four, sign), bound);
    };
    __m128i const low = _mm_packs_epi32(four_below(0), four_below(4));
    __m128i const high = _mm_packs_epi32(four_below(8), four_below(12));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kChildren; ++i) bits |= (lows[i] < second ? 1U : 0U) << i;
    return bits;
#endif
  }

  std::vector<base::Buffer> kept_;       // of all levels but the lowest
  std::vector<const uint32_t*> levels_;  // [level] q, lowest q of 16, of 256, ...
};

}  // namespace gpujoin::cpu
