// gathered_rows.cuh: rows of an output column: which they are in the source, and which have a value
//
// Source   ours; as gather_columns.cuh does it, which knows no missing rows
// In       rows[count]      uint32, or kMissingRow; null: the identity
//          validity         of the source, as Arrow has it
// Out      target_validity  words of 32 bits, those after the last row 0
//          null_count       started at 0 by the caller
// Launch   a tile of kStreamTile rows a block of kStreamThreads
// Moves    4 bytes of row number, and a byte of the bitmap, most of which is in the cache: 2^27
//          rows' bits have 16 MB; a bit written
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kMissingRow = ~0U;  // GPUJOIN_NO_ROW; behind the last row, too

struct RowsToGather {
  const uint32_t* rows;  // [count]; null: the identity
  uint64_t count;
  ValidityBits validity;      // of the source
  uint32_t* target_validity;  // [ceil(count / 32)]; null: no row can be NULL
  unsigned long long* null_count;
};

// Bits of the rows that are wanted; of others false. All are read before any is looked at, so that
// the reads are under way at once.
__device__ __forceinline__ void read_bits(const ValidityBits& from,
                                          const uint32_t (&rows)[kStreamItems],
                                          const bool (&wanted)[kStreamItems],
                                          bool (&found)[kStreamItems]) {
  uint32_t bytes[kStreamItems] = {};
  auto const offset = static_cast<uint64_t>(from.offset);
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    if (wanted[item]) bytes[item] = __ldg(&from.bits[(offset + rows[item]) / 8]);
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    found[item] = (bytes[item] >> ((offset + rows[item]) % 8) & 1) != 0;
  }
}

// The rows of a thread, a warp's 32 neighbours at a time, and whether they have a value.
struct ThreadRows {
  uint32_t rows[kStreamItems];
  bool valid[kStreamItems];
};

__device__ __forceinline__ ThreadRows load_rows(const RowsToGather& from, uint64_t tile) {
  ThreadRows found;
  uint64_t const first = tile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    found.rows[item] = at < from.count ? static_cast<uint32_t>(at) : kMissingRow;
  }
  if (from.rows != nullptr) {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const at = first + item * kStreamThreads;
      if (at < from.count) found.rows[item] = __ldcs(&from.rows[at]);
    }
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    found.valid[item] = found.rows[item] != kMissingRow;
  }
  if (from.validity.bits != nullptr) {
    read_bits(from.validity, found.rows, found.valid, found.valid);
  }
  return found;
}

// A bit of each row to words of 32. All threads of the block; false behind the last row.
__device__ __forceinline__ void write_bits(const bool (&bits)[kStreamItems], uint64_t tile,
                                           uint64_t count, uint32_t* words) {
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = tile + item * kStreamThreads + threadIdx.x;
    unsigned const word = __ballot_sync(0xffffffffU, bits[item]);
    if (threadIdx.x % 32 == 0 && at < count) words[at / 32] = word;
  }
}

// All threads of the block.
__device__ __forceinline__ void write_validity(const RowsToGather& to, const ThreadRows& found,
                                               uint64_t tile) {
  if (to.target_validity == nullptr) return;
  write_bits(found.valid, tile, to.count, to.target_validity);
  uint32_t nulls = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = tile + item * kStreamThreads + threadIdx.x;
    nulls += at < to.count && !found.valid[item];
  }
  add_of_block<kStreamThreads>(nulls, to.null_count);
}

}  // namespace gpujoin::kernels
