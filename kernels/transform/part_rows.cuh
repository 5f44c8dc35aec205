// part_rows.cuh: keys and words of a thread's rows side by side, as vectors where they lie so
//
// In       keys[rows], columns of 4, 8 and 16 bytes
// Needs    for vectors: data aligned to kItems times its width, a tile whose rows all are there
// Moves    |Key| and 4 bytes a word a row
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// kValues values side by side, loaded at once.
template <typename Value, int kValues>
struct alignas(sizeof(Value) * kValues) SideBySide {
  Value values[kValues];
};

// kItems values from `first` on. As vectors of 16 bytes at most.
template <typename Value, int kItems>
__device__ __forceinline__ void load_side_by_side(const void* column, uint64_t first,
                                                  Value (&values)[kItems]) {
  constexpr int kAtOnce =
      sizeof(Value) * kItems <= 16 ? kItems : 16 / static_cast<int>(sizeof(Value));
  using Vector = SideBySide<Value, kAtOnce>;
  auto const* const from =
      reinterpret_cast<const Vector*>(static_cast<const Value*>(column) + first);
#pragma unroll
  for (int i = 0; i < kItems / kAtOnce; ++i) {
    Vector const vector = from[i];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) values[i * kAtOnce + j] = vector.values[j];
  }
}
// Those of them below `rows`, one by one.
template <typename Value, int kItems>
__device__ __forceinline__ void load_one_by_one(const void* column, uint64_t first, uint64_t rows,
                                                Value (&values)[kItems]) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i < rows) values[i] = static_cast<const Value*>(column)[first + i];
  }
}
template <bool kVectors, typename Value, int kItems>
__device__ __forceinline__ void load_values(const void* column, uint64_t first, uint64_t rows,
                                            Value (&values)[kItems]) {
  if constexpr (kVectors) {
    load_side_by_side(column, first, values);
  } else {
    load_one_by_one(column, first, rows, values);
  }
}

// A word of every row, or two or four.
struct PartWord {
  const void* column;  // null: the row's number
  int32_t width;       // 0: the column is that of a word before, or there is none
};

// kFours: no column is wider than a word. Of no column it is the row's number then, too.
template <bool kVectors, bool kFours = false, int kMost, int kWords, int kItems>
__device__ __forceinline__ void load_words(const PartWord (&from)[kMost], uint64_t first,
                                           uint64_t rows, uint32_t (&words)[kWords][kItems]) {
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if (!kFours && from[w].width == 0) continue;
    if (from[w].column == nullptr) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) words[w][i] = static_cast<uint32_t>(first) + i;
    } else if (kFours || from[w].width == 4) {
      load_values<kVectors>(from[w].column, first, rows, words[w]);
    } else if (kWords == 4 && from[w].width == 16) {
      uint4 values[kItems];
      load_values<kVectors>(from[w].column, first, rows, values);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        uint32_t const of_row[] = {values[i].x, values[i].y, values[i].z, values[i].w};
#pragma unroll
        for (int v = 0; v < kWords; ++v) words[v][i] = of_row[v % 4];
      }
    } else {
      unsigned long long values[kItems];
      load_values<kVectors>(from[w].column, first, rows, values);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        words[w][i] = static_cast<uint32_t>(values[i]);
        words[w + 1 < kWords ? w + 1 : w][i] = static_cast<uint32_t>(values[i] >> 32);
      }
    }
  }
}

}  // namespace gpujoin::kernels
