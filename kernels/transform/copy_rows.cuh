// copy_rows.cuh: rows of a batch are copied, and their keys looked at on the way
//
// Source   ours; a copy by the driver for each column, a wait for the stream, and a look at the
//          keys for themselves took three times as long for few rows
// In       columns of rows without NULLs, of which one is the keys, Key
// Out      copies; the answer, as of key_range.cuh, when all of them are there
// Needs    state all 0, which it is again afterwards; targets aligned to 16 bytes
// Launch   kCopyBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less
// Moves    each column read and written
#pragma once

#include <cstdint>

#include "kernels/transform/key_range.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Each notes what it saw at the same addresses: more of them wait for each other.
constexpr int kCopyBlocksPerSm = 4;

struct CopiedBytes {
  const void* source;
  void* target;
  uint64_t bytes;
};
struct CopiedColumns {
  int32_t count;  // without the keys
  CopiedBytes columns[kMovedColumns];
};

// All blocks.
template <typename Word>
__device__ __forceinline__ void copy_words(const CopiedBytes& column, uint64_t first_byte) {
  constexpr int kItems = 2;  // of 16 bytes: what a thread has under way
  auto const* const source =
      reinterpret_cast<const Word*>(static_cast<const unsigned char*>(column.source) + first_byte);
  auto* const target =
      reinterpret_cast<Word*>(static_cast<unsigned char*>(column.target) + first_byte);
  uint64_t const words = (column.bytes - first_byte) / sizeof(Word);
  constexpr uint64_t kTile = uint64_t{kStreamThreads} * kItems;
  uint64_t const stride = uint64_t{gridDim.x} * kTile;
  for (uint64_t tile = blockIdx.x * kTile; tile < words; tile += stride) {
    Word read[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const word = tile + item * kStreamThreads + threadIdx.x;
      if (word < words) read[item] = __ldcs(&source[word]);
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const word = tile + item * kStreamThreads + threadIdx.x;
      if (word < words) target[word] = read[item];
    }
  }
}

// By vectors, as far as the caller's column is aligned to them.
__device__ __forceinline__ void copy_column(const CopiedBytes& column) {
  auto const address = reinterpret_cast<uintptr_t>(column.source);
  if (address % sizeof(uint4) == 0) {
    copy_words<uint4>(column, 0);
    copy_words<unsigned char>(column, column.bytes / sizeof(uint4) * sizeof(uint4));
  } else if (address % sizeof(uint32_t) == 0 && column.bytes % sizeof(uint32_t) == 0) {
    copy_words<uint32_t>(column, 0);
  } else {
    copy_words<unsigned char>(column, 0);
  }
}

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    copy_rows_kernel(const __grid_constant__ CopiedColumns columns, const Key* __restrict__ keys,
                     Key* __restrict__ key_copies, uint32_t rows, KeyRangeState* state,
                     KeyRangeAnswer* answer) {
  SeenByBlock<Key> const seen =
      see_keys(keys, rows, [key_copies](uint64_t row, Key key) { key_copies[row] = key; });
  // What is noted is on its way while the other columns are copied.
  if (threadIdx.x == 0) note_seen(seen, state);
#pragma unroll 1
  for (int32_t i = 0; i < columns.count; ++i) copy_column(columns.columns[i]);
  __syncthreads();
  if (threadIdx.x == 0) tell_seen(seen, state, answer);
}

}  // namespace gpujoin::kernels
