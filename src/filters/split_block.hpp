// split_block.hpp: how large a split block Bloom filter is, and what is put into it. The arithmetic
// is kernels/filters/split_block.hpp's.
#pragma once

#include <cstdint>

namespace gpujoin::filters {

// Of values that are not in it the share that passes, where `distinct` values are.
double split_block_rate(int64_t distinct, uint64_t blocks);

// The fewest blocks by which no more than `rate` passes, within `most_blocks`: a multiple of 64
// where there are so many, so that it can be folded. At least 1.
uint64_t split_blocks_for(int64_t distinct, double rate, uint64_t most_blocks);

// Puts those hashes into the filter whose block is one of `first` to `end`, so that threads that
// have other blocks may do the same. skipped: 1 of hashes that are not put in; null: none.
void add_to_blocks(uint32_t* bits, uint64_t blocks, uint64_t first, uint64_t end,
                   const uint64_t* hashes, const uint8_t* skipped, int64_t count);

// Makes a filter of half as many blocks of one of an even number, in the same place.
void fold_blocks(uint32_t* bits, uint64_t blocks);

}  // namespace gpujoin::filters
