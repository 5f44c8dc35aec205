// direct_table.cuh: dense keys as addresses: columns in the order of the keys, of unique ones, or
// bits alone
//
// Source   ours; the bits that vary are found as in GQE's perfect join. No hash, no comparison: a
//          key's place is its distance from the lowest key, and the place alone says that it is
//          there
// In       keys, all within [low, low + (places << shift)), their low `shift` bits equal
// Out      present, one bit a place; the place of each key, which place_columns.cuh fills and
//          table_columns.cuh reads
// Needs    present 0 before the first is taken
// Moves    a sector of the bits a key
//          (traffic::direct_table_build, _probe)
#pragma once

#include <cstdint>

#include "kernels/transform/key_steps.hpp"

namespace gpujoin::kernels {

template <typename KeyType>
struct DirectTable : KeySteps<KeyType> {
  uint32_t places;
  uint32_t* present;  // [(places + 31) / 32]
  bool is_full;       // every place has its key: the bits need not be asked
  // A table larger than L2 is made and asked slice by slice: rows of other slices are passed over,
  // and come again.
  uint32_t slice_places;
  bool is_near;  // rows near each other have places near each other, often bits of one word
  // Any row of a key will do: only that a key is there is known, not its row.
  bool any_row;
  // Of these one may come often: its bit is looked at before it is set, since an address takes
  // 0.6e9 atomics a second. H200, 2^27 rows of keys that come once: 2.2 ms with the look, 1.4
  // without. Then there are no columns to place.
  bool looks_first;
  // Of any row that is not looked at first, as many places as rows: whether a key repeats, and so
  // not every place has its key; else null.
  const uint32_t* repeats;

  __device__ bool is_of_slice(uint64_t place, uint32_t slice) const {
    uint64_t const first = uint64_t{slice} * slice_places;
    return place - first < min(slice_places, places - static_cast<uint32_t>(first));
  }
  // The places of build rows that are of the slice. are_placed: which are rows, and then which have
  // a place. Whether a key was there.
  template <int kItems>
  __device__ bool take(const KeyType (&keys)[kItems], uint32_t slice, uint32_t (&taken)[kItems],
                       bool (&are_placed)[kItems]) const {
    if (is_near && shares_words(keys[0], are_placed[0])) return take_near(keys, taken, are_placed);
    if (looks_first) {
      set_looked(keys, slice, are_placed);
      return false;
    }
    bool repeats = false;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (!are_placed[item]) continue;
      taken[item] = static_cast<uint32_t>(this->place_of(keys[item]));
      are_placed[item] = is_of_slice(taken[item], slice);
      if (!are_placed[item]) continue;
      uint32_t const bit = 1U << taken[item] % 32;
      repeats |= (atomicOr(&present[taken[item] / 32], bit) & bit) != 0;
    }
    return repeats;
  }

 private:
  // Bits that are looked at first, row by row, so that a key which comes often is seen soon. No
  // answer is waited for.
  template <int kItems>
  __device__ void set_looked(const KeyType (&keys)[kItems], uint32_t slice,
                             const bool (&are_placed)[kItems]) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (!are_placed[item]) continue;
      auto const place = static_cast<uint32_t>(this->place_of(keys[item]));
      if (!is_of_slice(place, slice)) continue;
      uint32_t const bit = 1U << place % 32;
      if ((__ldcg(&present[place / 32]) & bit) == 0) atomicOr(&present[place / 32], bit);
    }
  }
  // Whether many of a warp's rows have places in a few words. Those of a side that is shuffled
  // within blocks are near and have none together: to look for them takes three times what the
  // atomics do.
  __device__ bool shares_words(KeyType key, bool is_placed) const {
    constexpr uint32_t kNearWords = 16;
    constexpr int kMany = 8;
    uint32_t const word = is_placed ? static_cast<uint32_t>(this->place_of(key)) / 32 : 0xffffffffU;
    uint32_t const first = __shfl_sync(0xffffffffU, word, 0);
    bool const is_close = word - first + kNearWords / 2 < kNearWords;
    return __popc(__ballot_sync(0xffffffffU, is_close)) >= kMany;
  }
  // The same, all lanes of a warp, of a table of one slice. A word takes one atomic at a time:
  // those of a warp are one.
  template <int kItems>
  __device__ bool take_near(const KeyType (&keys)[kItems], uint32_t (&taken)[kItems],
                            const bool (&are_placed)[kItems]) const {
    constexpr uint32_t kNoWord = 0xffffffffU;
    bool repeats = false;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const is_placed = are_placed[item];
      taken[item] = is_placed ? static_cast<uint32_t>(this->place_of(keys[item])) : 0;
      uint32_t const word = is_placed ? taken[item] / 32 : kNoWord;
      uint32_t const same = __match_any_sync(0xffffffffU, word);
      uint32_t const bits = __reduce_or_sync(same, 1U << taken[item] % 32);
      bool const is_first = __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32);
      if (!is_placed || !is_first) continue;
      bool const are_set = looks_first && (__ldcg(&present[word]) & bits) == bits;
      repeats |=
          are_set || (atomicOr(&present[word], bits) & bits) != 0 || __popc(bits) != __popc(same);
    }
    return repeats;
  }
};

// How table_columns.cuh finds the build row of each of a lane's keys.
template <typename KeyType>
struct FindPlaces {
  using Key = KeyType;
  static constexpr bool kFewAtOnce = false;
  static constexpr bool kStaysInCache = true;
  DirectTable<Key> table;
  uint32_t slices;

  template <int kItems>
  __device__ void operator()(const Key (&keys)[kItems], const bool (&are_rows)[kItems],
                             uint32_t slice, uint32_t (&build)[kItems],
                             bool (&found)[kItems]) const {
    uint32_t words[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const place = table.place_of(keys[item]);
      found[item] = are_rows[item] && table.is_of_slice(place, slice);
      build[item] = static_cast<uint32_t>(place);
    }
    if (table.is_full || (table.repeats != nullptr && *table.repeats == 0)) return;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (found[item]) words[item] = table.present[build[item] / 32];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      found[item] = found[item] && (words[item] >> build[item] % 32 & 1) != 0;
    }
  }
};

// Of several slices, which blocks ask side by side.
template <typename KeyType>
struct FindSlicedPlaces : FindPlaces<KeyType> {
  static constexpr bool kStaysInCache = false;
};

// Of places that rows near each other ask near each other, while L2 has them.
template <typename KeyType>
struct FindNearPlaces : FindPlaces<KeyType> {
  static constexpr bool kStaysInCache = false;
  static constexpr bool kOneSlice = true;
};

}  // namespace gpujoin::kernels
