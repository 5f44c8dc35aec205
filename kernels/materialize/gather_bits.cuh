// gather_bits.cuh: bits by row number
//
// Source   ours; see gathered_rows.cuh
// In       rows[count]     as gathered_rows.cuh has them
//          source          bits, as Arrow has validity
// Out      target          words of 32 bits; 0 of rows without a value, and after the last row
// Launch   ceil(count / kStreamTile) blocks of kStreamThreads
// Moves    what gathered_rows.cuh does, and as much for the bits as for validity
#pragma once

#include <cstdint>

#include "kernels/materialize/gathered_rows.cuh"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    gather_bits_kernel(const __grid_constant__ RowsToGather args, const ValidityBits source,
                       uint32_t* target) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  ThreadRows const found = load_rows(args, tile);
  bool bits[kStreamItems];
  read_bits(source, found.rows, found.valid, bits);
  write_bits(bits, tile, args.count, target);
  write_validity(args, found, tile);
}

}  // namespace gpujoin::kernels
