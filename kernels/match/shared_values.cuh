// shared_values.cuh: a direct table of few places whose values blocks have in shared memory
//
// Source   ours. A first cache has a part of the table beside what streams by, and a lookup that
//          misses it is a sector from L2, which was busy 89 % of the time (decision 51)
// In       a full or a sparse direct table of one slice, with one build column of 4 bytes, by place
// Out      as a finder of table_columns.cuh, but each key's value in the place of its build row
// Needs    shared_bytes() of dynamic shared memory; places beyond shared_places are read where they
//          are
// Launch   blocks of kSharedValueThreads, one a multiprocessor
// Moves    values and bits once a block, from L2; the lookups of places beyond
#pragma once

#include <cstdint>

#include "kernels/match/direct_table.cuh"

namespace gpujoin::kernels {

constexpr int kSharedValueThreads = 1024;

template <typename KeyType>
struct FindSharedValues {
  using Key = KeyType;
  static constexpr bool kFewAtOnce = false;
  static constexpr bool kStaysInCache = true;
  static constexpr int kThreads = kSharedValueThreads;
  DirectTable<Key> table;
  uint32_t slices;         // 1
  const uint32_t* values;  // [table.places]
  uint32_t shared_places;  // from the first on

  __host__ __device__ uint32_t bit_words() const {
    return table.is_full ? 0 : (table.places + 31) / 32;
  }
  __host__ __device__ uint32_t shared_bytes() const {
    return (shared_places + bit_words()) * static_cast<uint32_t>(sizeof(uint32_t));
  }

  // All threads, and a barrier before the first lookup.
  __device__ void start() const {
    uint32_t* const shared = in_shared();
#pragma unroll 8
    for (uint32_t place = threadIdx.x; place < shared_places; place += kThreads) {
      shared[place] = values[place];
    }
    for (uint32_t word = threadIdx.x; word < bit_words(); word += kThreads) {
      shared[shared_places + word] = table.present[word];
    }
  }

  template <int kItems>
  __device__ void operator()(const Key (&keys)[kItems], const bool (&are_rows)[kItems], uint32_t,
                             uint32_t (&build)[kItems], bool (&found)[kItems]) const {
    const uint32_t* const shared = in_shared();
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const place = table.place_of(keys[item]);
      found[item] = are_rows[item] && place < table.places;
      build[item] = static_cast<uint32_t>(place);
    }
    if (!table.is_full) {
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (!found[item]) continue;
        found[item] = (shared[shared_places + build[item] / 32] >> build[item] % 32 & 1) != 0;
      }
    }
    bool const are_all = shared_places == table.places;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (!found[item]) continue;
      uint32_t const place = build[item];
      build[item] = are_all || place < shared_places ? shared[place] : values[place];
    }
  }

 private:
  __device__ static uint32_t* in_shared() {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    return reinterpret_cast<uint32_t*>(dynamic_shared);
  }
};

}  // namespace gpujoin::kernels
