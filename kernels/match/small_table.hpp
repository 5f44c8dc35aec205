// small_table.hpp: what the join of few rows is given and what it tells, as host and device both
// see it.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/match/carried_columns.hpp"
#include "kernels/transform/key_range.hpp"
#include "kernels/transform/key_steps.hpp"

namespace gpujoin::kernels {

// Of all blocks together, all 0 at the start, and again at the end.
struct SmallTableState {
  NotedRange noted;            // of all build keys
  unsigned long long rows;     // output
  unsigned long long started;  // when block 0 did, in nanoseconds
  uint32_t repeats;            // a build key occurs twice
  uint32_t too_many;           // it has more rows than are chained, or more are foretold
  uint32_t finished;           // blocks
  uint32_t scattered;          // blocks whose own keys are too far apart for places
  uint32_t repeats_seen[2];    // SmallTableJoin::most_repeats_seen, of build and probe side
};

// What becomes of build keys that repeat.
enum class RepeatedKeys : int32_t {
  kRefused,  // the join is in vain
  kOneRow,   // any of a key's rows stands for all
  kAllRows,  // of up to kMostChainedRows; of one block refused
};
constexpr uint32_t kMostChainedRows = 64;
// What is written by way of chains where there are more than kSmallTableRows: others write more in
// less time. H200: 1.3*10^5 x 3.2*10^6 rows of which 2 % match five others 0.07 ms, in partitions
// 0.15; of 2.5*10^6 that all match two 0.21 and 0.27; 6*10^4 x 8*10^6 of which each matches four
// 1.01 and 0.48. The first rows foretell it: 1.3*10^4 x 3.2*10^6 rows, 0.3 GB, 0.82 ms where that
// was counted before it was let go of, now 0.59.
constexpr uint64_t kMostChainedBytes = uint64_t{5} << 25;
constexpr unsigned long long kNoLimit = ~0ULL;
constexpr uint32_t kAnyRepeats = ~0U;

// One word, which the host sees at once or not at all, and which is never 0.
struct SmallTableAnswer {
  static constexpr int kRowsAt = 4;
  static constexpr int kTimeAt = 33;
  static constexpr uint32_t kMostRows = (1U << (kTimeAt - kRowsAt)) - 1;
  unsigned long long word;

  constexpr bool is_direct() const { return (word & 2) != 0; }
  constexpr bool is_in_vain() const { return (word & 4) != 0; }
  constexpr bool is_turned() const { return (word & 8) != 0; }
  constexpr uint32_t rows() const { return static_cast<uint32_t>(word >> kRowsAt) & kMostRows; }
  constexpr unsigned long long nanoseconds() const { return word >> kTimeAt; }
};

// Rows of a key that repeats. Of unique keys a store of a row's `next` would be a tenth of all that
// is moved.
struct ChainedRows {
  uint32_t* next;    // [build_rows] the row behind each, where there is one
  uint32_t* firsts;  // [build_rows / 32, up] a bit for each row behind which there is none
};

// Of dense keys, for another launch.
template <typename Key>
struct SmallPlaces {
  KeySteps<Key> steps;
  uint32_t places;
};

// One block has no use of slots, chains, places and state.
template <typename KeyType>
struct SmallTableJoin {
  using Key = KeyType;
  const Key* build_keys;
  uint32_t build_rows;
  ValidityBits build_present;  // rows without a bit are left out
  ValidityBits probe_present;
  uint32_t most_places;       // keys further apart are hashed; 0: all are
  unsigned long long* slots;  // [mask + 1], and 4 * most_places bytes at least
  uint64_t mask;
  ChainedRows chains;
  SmallPlaces<Key>* places;  // of dense keys: how a key's is found
  RepeatedKeys repeated;
  unsigned long long most_chained;  // output rows beyond which repeated keys are let go of
  // Of build rows that blocks look at before a table is made, a row a thread, those with a key that
  // comes twice in their warp: where there are more, and a key of the probe side has fewer rows,
  // the sides change roles. kAnyRepeats: nobody counts them.
  uint32_t most_repeats_seen;
  SmallTableState* before_turning;  // of a join whose sides changed roles: the first one's; or null
  SmallTableState* state;
  unsigned long long* answer;  // in page-locked host memory: a SmallTableAnswer
  TableJoin<Key> output;
};

}  // namespace gpujoin::kernels
