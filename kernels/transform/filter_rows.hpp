// filter_rows.hpp: the keys that rows are kept for, as host and device both see them.
#pragma once

#include <cstdint>

#include "kernels/transform/key_steps.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// A bit for each of `places` steps, which the keys of both sides may have: exact.
template <typename KeyType>
struct KeyBitsFilter : KeySteps<KeyType> {
  uint64_t places;
  uint32_t* bits;  // [(places + 31) / 32]
};

// A bit for each of 2^(bits of Key - shift) hashes: a row without a match may have another key's.
template <typename KeyType>
struct KeyHashesFilter {
  using Key = KeyType;
  int32_t shift;
  uint64_t places;
  uint32_t* bits;  // likewise

#ifdef __CUDACC__
  // Multiplicative hashing by the golden ratio (Knuth). Not mix_key, by which partitions and tables
  // are made: keys that are taken for each other here would fall upon each other there.
  __device__ Key place_of(Key key) const {
    constexpr auto kGoldenRatio = static_cast<Key>(0x9e3779b97f4a7c15ULL >> (64 - 8 * sizeof(Key)));
    return static_cast<Key>(key * (kGoldenRatio | 1)) >> shift;
  }
#endif
};

// Where all keys of a side are expected: from low to low + span, in steps: no distance from low has
// a bit of between_steps. *outside is set where one is not; null: nothing is expected.
template <typename Key>
struct ExpectedKeys {
  Key low;
  Key span;
  Key between_steps;
  uint32_t* outside;
};

// A column that goes along with the keys that are kept.
struct AlongColumn {
  const void* from;  // [rows]
  void* to;          // in the order of the kept keys
  int32_t width;     // 4 or 8
};
struct AlongColumns {
  AlongColumn each[kMovedColumns];
  int32_t count;
  uint64_t room;  // kept rows of which values are written
};

}  // namespace gpujoin::kernels
