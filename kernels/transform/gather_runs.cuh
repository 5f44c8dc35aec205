// gather_runs.cuh: runs of page-locked memory, one behind the other in a column of the device
//
// Source   ours; zero copy over the host link, as in Rui & Tu 2020, section 4.3
// In       pieces[i] of runs, which begin at multiples of kRunAlign values
// Out      target[rows]
// Needs    what lies behind a piece's end within 16 bytes to be readable
// Launch   few blocks of kGatherThreads, which take piece after piece: a twentieth of the device
//          has as many bytes on their way as the link takes, and the rest is left to joins
// Moves    |value| a row over the link, as much to device memory
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/transform/hash_partitions.hpp"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

constexpr int kGatherThreads = 512;

template <typename Value>
__device__ __forceinline__ void gather_piece(const RunPiece& piece, Value* __restrict__ target) {
  constexpr uint32_t kOfVector = sizeof(uint4) / sizeof(Value);
  constexpr int kAtOnce = 4;
  auto const* const vectors = static_cast<const uint4*>(piece.source);
  uint32_t const count = (piece.rows + kOfVector - 1) / kOfVector;
  for (uint32_t first = threadIdx.x; first < count; first += kAtOnce * kGatherThreads) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint32_t const at = first + i * kGatherThreads;
      if (at < count) loaded[i] = vectors[at];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint32_t const at = first + i * kGatherThreads;
      if (at >= count) continue;
      auto const* const values = reinterpret_cast<const Value*>(&loaded[i]);
#pragma unroll
      for (uint32_t j = 0; j < kOfVector; ++j) {
        if (at * kOfVector + j < piece.rows) target[at * kOfVector + j] = values[j];
      }
    }
  }
}

template <typename Value>
__global__ void __launch_bounds__(kGatherThreads)
    gather_runs_kernel(const RunPiece* __restrict__ pieces, uint32_t count,
                       Value* __restrict__ target) {
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    RunPiece const piece = pieces[i];
    if constexpr (sizeof(Value) == 1) {
      if (piece.source == nullptr) {
        for (uint32_t row = threadIdx.x; row < piece.rows; row += kGatherThreads) {
          target[piece.target_row + row] = 1;
        }
        continue;
      }
    }
    gather_piece(piece, target + piece.target_row);
  }
}

// words[ceil(rows / 32)]: a bit for each byte, those behind the last row 0; ones += the bits set.
__global__ void __launch_bounds__(kStreamThreads)
    pack_bits_kernel(const uint8_t* __restrict__ bytes, uint64_t rows,
                     uint32_t* __restrict__ words) {
  uint64_t const row = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  uint32_t const word = __ballot_sync(0xffffffffU, row < rows && bytes[row] != 0);
  if (threadIdx.x % 32 == 0 && row < rows) words[row / 32] = word;
}

}  // namespace gpujoin::kernels
