// text_bytes.cuh: how many bytes text has in some rows
//
// Source   ours
// In       rows[count]  uint32, or kMissingRow; null: the identity
//          values       a BytesColumn of offsets, and its validity
// Out      bytes        their sum, added
// Launch   a block of kStreamThreads a tile of kStreamTile rows
// Moves    4 bytes of row number and a random sector of offsets a row
#pragma once

#include "kernels/materialize/gather_bytes.cuh"

namespace gpujoin::kernels {

template <BytesLayout kLayout>
__global__ void __launch_bounds__(kStreamThreads)
    text_bytes_kernel(const __grid_constant__ RowsToGather rows,
                      const __grid_constant__ BytesColumn values, unsigned long long* bytes) {
  using Sum = cub::BlockReduce<unsigned long long, kStreamThreads>;
  __shared__ typename Sum::TempStorage sum_storage;
  ThreadRows const found = load_rows(rows, uint64_t{blockIdx.x} * kStreamTile);
  ByteSpan spans[kStreamItems];
  find_spans<kLayout>(values, found, spans);
  unsigned long long sum = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) sum += spans[item].count;
  sum = Sum(sum_storage).Sum(sum);
  if (threadIdx.x == 0) atomicAdd(bytes, sum);
}

}  // namespace gpujoin::kernels
