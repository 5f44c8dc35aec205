// test_bits.hpp: of values or hashes that follow each other a bit each, whether a filter lets it
// pass: what a core does with them, of every kind of filter.
#pragma once

#include <cstdint>

namespace gpujoin::filters {

// All write ceil(count / 64) words, the first row's bit lowest, those behind the last row 0.

// Positions between two.
struct Range {
  int64_t first = 0;
  int64_t last = -1;  // below first: nothing passes
};
void test_range(const Range& range, const int32_t* values, int64_t count, uint64_t* passes);
void test_range(const Range& range, const int64_t* values, int64_t count, uint64_t* passes);

// And that have a bit: that of position range.first is bit 0.
void test_bitmap(const Range& range, const uint64_t* bits, const int32_t* values, int64_t count,
                 uint64_t* passes);
void test_bitmap(const Range& range, const uint64_t* bits, const int64_t* values, int64_t count,
                 uint64_t* passes);

// Integers by their XXH64, and hashes.
struct SplitBlocks {
  const uint32_t* bits = nullptr;
  uint64_t blocks = 0;
};
void test_blocks(const SplitBlocks& filter, const int32_t* values, int64_t count, uint64_t* passes);
void test_blocks(const SplitBlocks& filter, const int64_t* values, int64_t count, uint64_t* passes);
void test_hashes(const SplitBlocks& filter, const uint64_t* hashes, int64_t count,
                 uint64_t* passes);

}  // namespace gpujoin::filters
