// carried_columns.hpp: what the join that writes columns is given, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

enum class CarriedFrom : int32_t { kBuild, kProbe, kKey };

struct CarriedColumn {
  // Null: the row number itself, where kNumbersRows. Of kKey no address: what the keys of 8 bytes
  // that go out are above their codes of 4; else unused.
  const void* source;
  void* target;
  int32_t width;
  CarriedFrom from;
  // Where a chunk of it lies in the block's shared memory; 0: it is read where it is.
  uint32_t stage = 0;
};

struct CarriedCounters {
  unsigned long long chunks;  // given out, those beyond the capacity included
  unsigned long long tails;   // chunks that their block left partly filled
  unsigned long long holes;   // places left empty in them
  unsigned long long missed;  // rows that were counted only, for want of places
  // Of those that were written among pairs, rows of a side without a match.
  unsigned long long alone_of_build;
  unsigned long long alone_of_probe;
  // From here on: of one launch, 0 at its start.
  unsigned long long taken;  // units or turns beyond each block's first
  unsigned long long left;   // not 0: partitions were left, and are told by left[]
};

// What outputs of partitions are told by, and those of a table not.
template <typename KeyType>
struct OfPartitions {
  using Key = KeyType;
  static constexpr bool kMissesRows = false;
  static constexpr bool kMixesKeys = true;
  static constexpr bool kWidensKeys = true;
  static constexpr bool kNumbersRows = false;
  static constexpr bool kKeepsTable = false;
  static constexpr bool kStages = true;
};

template <typename KeyType>
struct CarriedJoin : OfPartitions<KeyType> {
  using Key = KeyType;
  const Key* build_keys;
  const Key* probe_keys;
  const uint32_t* build_offsets;  // [partitions + 1]
  const uint32_t* probe_offsets;  // [partitions + 1]
  int32_t radix_bits;
  uint32_t partitions;
  const unsigned long long* unit_ends;  // [partitions] inclusive sum of the work units of each
  const uint32_t* heavy_rows;           // of a launch that deals: as in CarriedUnits
  bool joins_all;                       // every partition has units
  bool most_match;                      // of the probe rows
  bool wants_absent;                    // of sets: rows without a match, not those with one
  uint8_t*
      // [partitions] not 0: the match could not do it, or not well; a match that does all leaves it
      left;
  CarriedCounters* counters;
  unsigned long long* tails;  // [gridDim.x] first empty place of each block's last chunk
  uint32_t chunk;             // places that a block takes at a time
  uint64_t capacity;  // places, a multiple of chunk; chunks beyond are counted and not written
  int32_t column_count;
  CarriedColumn columns[kCarriedColumns];
};

// Columns of one side, of its rows without a match, which the join writes beside its pairs.
template <typename KeyType>
struct RowsWithoutMatch : OfPartitions<KeyType> {
  bool are_wanted;
  bool have_keys;  // among the columns
  CarriedCounters* counters;
  unsigned long long* tails;  // [gridDim.x]
  uint32_t chunk;
  uint64_t capacity;  // places for all rows of the side
  int32_t column_count;
  CarriedColumn columns[kMovedColumns + 1];
};
template <typename KeyType>
struct KeepingJoin : CarriedJoin<KeyType> {
  RowsWithoutMatch<KeyType> of_build;
  RowsWithoutMatch<KeyType> of_probe;
};

// Where the columns are row numbers alone: rows of either side without a match are among the pairs,
// and have no number of the other side.
template <typename KeyType>
struct OuterPairs : CarriedJoin<KeyType> {
  static constexpr bool kMissesRows = true;
  bool keeps_build;
  bool keeps_probe;
};

// The same of a table of the whole build side, whose rows are told by their number or place in it.
template <typename KeyType>
struct TableJoin {
  using Key = KeyType;
  static constexpr bool kMissesRows = false;
  static constexpr bool kMixesKeys = false;
  static constexpr bool kWidensKeys = false;  // codes of one column travel through partitions only
  static constexpr bool kNumbersRows = true;
  // The table shall stay in L2: what is read or written once passes by it.
  static constexpr bool kKeepsTable = true;
  static constexpr bool kStages = false;
  const Key* probe_keys;
  uint32_t probe_rows;
  ValidityBits probe_present;             // rows without a bit have NULL keys, and no match
  bool unmatched;                         // rows without a match come out, and no others
  const uint32_t* has_duplicates;         // not 0: the join is not done; null: it is
  const void* packed_rows;                // of the build side by place, or null
  uint8_t packed_bytes[kCarriedColumns];  // the first byte of each build column in its row
  CarriedCounters* counters;
  unsigned long long* tails;  // [gridDim.x]
  unsigned long long* found;  // of lookups, in the place of counters, tails, chunk and capacity
  uint32_t chunk;
  uint64_t capacity;
  int32_t column_count;
  CarriedColumn columns[kCarriedColumns];
};

}  // namespace gpujoin::kernels
