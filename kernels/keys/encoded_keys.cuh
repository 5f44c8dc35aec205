// encoded_keys.cuh: the codes of a thread's rows, from their key columns
//
// In       columns of 4 or 8 bytes; no value is NULL in a row that is asked for
// Out      packed or hashed codes; whether a value lay outside of its field
// Moves    |key| a row. A column is asked for all rows of the thread before the first is used
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/keys/encoded_columns.hpp"

namespace gpujoin::kernels {

// Of rows whose bit is set.
template <typename Value, int kItems>
__device__ __forceinline__ void load_rows(const void* column, const uint32_t (&rows)[kItems],
                                          uint32_t are_rows, Value (&values)[kItems]) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if ((are_rows >> i & 1) != 0) values[i] = static_cast<const Value*>(column)[rows[i]];
  }
}

// Codes of the rows whose bit is set, of the others any. True: a value lies outside of its field.
template <typename Code, bool kHashed, int kItems>
__device__ __forceinline__ bool encode_rows(const EncodedColumns& from,
                                            const uint32_t (&rows)[kItems], uint32_t are_rows,
                                            Code (&codes)[kItems]) {
  static_assert(!kHashed || sizeof(Code) == 8);
  std::conditional_t<kHashed, HashSum, Code> sums[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if constexpr (kHashed) {
      sums[i] = from.hash.start;
    } else {
      sums[i] = 0;
    }
  }
  bool is_outside = false;
  auto const add = [&](int c, auto zero) {
    using Value = decltype(zero);
    EncodedColumn const& column = from.columns[c];
    Value values[kItems] = {};
    load_rows(column.data, rows, are_rows, values);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if constexpr (kHashed) {
        from.hash.add(&sums[i], c, values[i]);
      } else {
        bool beyond = false;
        sums[i] |= column.part_of<Code>(values[i], &beyond);
        is_outside |= beyond && (are_rows >> i & 1) != 0;
      }
    }
  };
#pragma unroll 1
  for (int c = 0; c < from.count; ++c) {
    if (from.columns[c].width == 4) {
      add(c, uint32_t{});
    } else {
      add(c, uint64_t{});
    }
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if constexpr (kHashed) {
      codes[i] = from.hash.of(sums[i]) | from.hash.ones;
    } else {
      codes[i] = sums[i];
    }
  }
  return is_outside;
}

// Rows of a thread at a time. Sums of hashes take four registers each.
template <bool kHashed>
constexpr int kEncodeItems = kHashed ? 4 : 8;

// Codes of the rows at positions first, first + kStride ... of those that take part.
template <bool kHashed, int kStride, typename Code, int kItems>
__device__ __forceinline__ void encode_at(const EncodedColumns& from, uint64_t first,
                                          uint32_t are_rows, Code (&codes)[kItems]) {
  uint32_t rows[kItems] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    auto const position = static_cast<uint32_t>(first + static_cast<uint32_t>(i) * kStride);
    rows[i] = position;
    if (from.row_numbers != nullptr && (are_rows >> i & 1) != 0) {
      rows[i] = from.row_numbers[position];
    }
  }
  bool const is_outside = encode_rows<Code, kHashed>(from, rows, are_rows, codes);
  // Whoever comes writes the same.
  if (is_outside && from.outside != nullptr) *from.outside = 1;
}

}  // namespace gpujoin::kernels
