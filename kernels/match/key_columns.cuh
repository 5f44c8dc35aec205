// key_columns.cuh: keys of one to five columns, hashed and compared where they lie
//
// Paper    Lin & Liao 2025, sections 4.1, 4.3 and 5.2, listing 4: the columns' hashes are combined
//          in the kernel that inserts or looks up, so no column of hashes is written and read again
// Differs  listing 4 combines 32-bit hashes by shifts and adds; here columns are summed up by
//          factors of the context's seed (kernels/keys/column_hash.hpp), so that neither related
//          columns (l % 1000, l % 100) nor keys that were chosen for it share their hashes. An
//          element still holds 32 bits of it, the *tag*; the other 32 choose where it lies
// In       data[c][rows]     the caller's columns, 4 or 8 bytes a value, in any mix; no value is
//          NULL in a row that is asked for
// Out      hash(row): tag in the low half, place in the high half; equals(): whether two rows have
//          the same key
// Moves    hash: |key| a row, streamed; equals: a random sector a column of the build row
//          (traffic::row_multiset_count)
#pragma once

#include <cstdint>

#include "kernels/keys/column_hash.hpp"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

struct KeyColumns {
  static constexpr bool kVerified = true;  // equal tags do not say that keys are equal
  const void* data[kMostKeyColumns];
  int32_t widths[kMostKeyColumns];
  int32_t count;
  ColumnHash factors;

  __device__ uint64_t value(int column, uint32_t row) const {
    if (widths[column] == 4) return static_cast<const uint32_t*>(data[column])[row];
    return static_cast<const uint64_t*>(data[column])[row];
  }

  // Columns first, first + 1 ... of a row: they are asked for before the first is needed. Those
  // beyond the last are 0.
  static constexpr int kAtOnce = 3;  // more: counting spills
  __device__ void load(int first, uint32_t row, uint64_t (&values)[kAtOnce]) const {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) values[i] = first + i < count ? value(first + i, row) : 0;
  }

  __device__ uint64_t hash(uint32_t row) const {
    HashSum sum = factors.start;
#pragma unroll 1
    for (int first = 0; first < count; first += kAtOnce) {
      uint64_t values[kAtOnce];
      load(first, row, values);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i < count) factors.add(&sum, first + i, values[i]);
      }
    }
    return mix_key(factors.of(sum)) | factors.ones;
  }

  __device__ bool equals(uint32_t row, const KeyColumns& others, uint32_t other_row) const {
    bool same = true;
#pragma unroll 1
    for (int first = 0; first < count; first += kAtOnce) {
      uint64_t values[kAtOnce];
      uint64_t other_values[kAtOnce];
      load(first, row, values);
      others.load(first, other_row, other_values);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) same &= values[i] == other_values[i];
    }
    return same;
  }
};

// One column of 4 bytes: the tag is the mixed key itself, so equal tags are equal keys and nothing
// is looked up.
struct WordKey {
  static constexpr bool kVerified = false;
  const uint32_t* data;

  __device__ uint64_t hash(uint32_t row) const {
    uint32_t const mixed = mix_key(data[row]);
    return static_cast<uint64_t>(mixed) << 32 | mixed;
  }
};

}  // namespace gpujoin::kernels
