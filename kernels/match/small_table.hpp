// small_table.hpp: what the join of few rows is given and what it tells, as host and device both
// see it.
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/transform/key_range.hpp"

namespace gpujoin::kernels {

// Of all blocks together, all 0 at the start, and again at the end.
struct SmallTableState {
  NotedRange noted;            // of all build keys
  unsigned long long rows;     // output
  unsigned long long started;  // when block 0 did, in nanoseconds
  uint32_t repeats;            // a build key occurs twice
  uint32_t finished;           // blocks
  uint32_t scattered;          // blocks whose own keys are too far apart for places
};

// One word, which the host sees at once or not at all, and which is never 0.
struct SmallTableAnswer {
  static constexpr int kRowsAt = 3;
  static constexpr int kTimeAt = 26;
  static constexpr uint32_t kMostRows = (1U << (kTimeAt - kRowsAt)) - 1;
  unsigned long long word;

  constexpr bool is_direct() const { return (word & 2) != 0; }
  constexpr bool repeats() const { return (word & 4) != 0; }
  constexpr uint32_t rows() const { return static_cast<uint32_t>(word >> kRowsAt) & kMostRows; }
  constexpr unsigned long long nanoseconds() const { return word >> kTimeAt; }
};

template <typename KeyType>
struct SmallTableJoin {
  using Key = KeyType;
  const Key* build_keys;
  uint32_t build_rows;
  uint32_t most_places;       // keys further apart are hashed; 0: all are
  unsigned long long* slots;  // [mask + 1], and 4 * most_places bytes at least; of one block unused
  uint64_t mask;
  SmallTableState* state;      // of one block unused
  unsigned long long* answer;  // in page-locked host memory: a SmallTableAnswer
  TableJoin<Key> output;
};

}  // namespace gpujoin::kernels
