// small_table.hpp: what the join of few rows is given and what it tells, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"

namespace gpujoin::kernels {

// Of all blocks together, all 0 at the start.
struct SmallTableState {
  unsigned long long any;   // or of all build keys, their sign bit turned
  unsigned long long none;  // of their complements
  unsigned long long high;
  unsigned long long inverted_low;
  unsigned long long rows;  // output
  uint32_t repeats;         // a build key occurs twice
  uint32_t finished;        // blocks
};

// In page-locked host memory.
struct SmallTableFound {
  unsigned long long rows;
  uint32_t repeats;
  uint32_t is_direct;
};

template <typename KeyType>
struct SmallTableJoin {
  using Key = KeyType;
  const Key* build_keys;
  uint32_t build_rows;
  uint32_t most_places;       // keys further apart are hashed; 0: all are
  unsigned long long* slots;  // [mask + 1], and 4 * most_places bytes at least
  uint64_t mask;
  SmallTableState* state;
  SmallTableFound* found;
  TableJoin<Key> output;
};

}  // namespace gpujoin::kernels
