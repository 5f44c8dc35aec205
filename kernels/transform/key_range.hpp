// key_range.hpp: what a look at the keys finds, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/host_answer.hpp"

namespace gpujoin::kernels {

// Keys with their sign bit turned, zero-extended. low > high: there is none.
struct KeyRange {
  unsigned long long any = 0;      // or
  unsigned long long all = ~0ULL;  // and
  unsigned long long low = ~0ULL;
  unsigned long long high = 0;
  // From each key to that of the next row, where it is the same everywhere; else 0.
  unsigned long long step = 0;
};

// Of a tile of kNearTile rows, turned, too.
template <typename Key>
struct TileRange {
  Key low;
  Key high;
};

// The same while blocks add theirs, 0 where none did.
struct NotedRange {
  unsigned long long any;
  unsigned long long none;  // or of the complements
  unsigned long long high;
  unsigned long long inverted_low;
};

struct KeyRangeState {
  NotedRange noted;
  uint32_t finished;    // blocks
  uint32_t has_breaks;  // 1: steps differ
};

using KeyRangeAnswer = HostAnswer<KeyRange>;

template <typename Key>
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr Key
    turn_sign(Key key) {
  return key ^ static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
}

// In the order of signed integers.
template <typename Key>
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr bool
    is_before(Key one, Key other) {
  return turn_sign(one) < turn_sign(other);
}

}  // namespace gpujoin::kernels
