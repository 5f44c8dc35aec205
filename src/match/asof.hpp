// asof.hpp: the match of ASOF joins on the GPU: keys of sorted sides, and a merge of both.
#pragma once

#include <cstdint>

#include "kernels/match/asof_rule.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::match {

// What the rows of a side are ordered by, on the device.
struct AsofColumns {
  const uint64_t* places = nullptr;
  uint64_t turned = 0;           // bits of a place to turn, for the order of unsigned numbers
  const void* groups = nullptr;  // of 4 or 8 bytes; null: there is one
  int32_t group_width = 0;
  const uint32_t* rows = nullptr;  // those that take part; null: all
  uint32_t count = 0;
};

// Of the rows that take part. low > high: there are none.
struct AsofFacts {
  uint64_t low_place = ~uint64_t{0};
  uint64_t high_place = 0;
  uint64_t low_group = ~uint64_t{0};
  uint64_t high_group = 0;
  bool is_sorted = true;           // by group and place
  bool is_sorted_by_place = true;  // whatever the groups
};
// Waits for the stream.
AsofFacts look(base::Queue& queue, const AsofColumns& columns);

// [count] each. Queued on the stream.
void make_asof_keys(base::Queue& queue, const AsofColumns& columns, uint64_t low_group,
                    uint64_t least, int32_t place_bits, uint64_t* keys);
void make_asof_groups(base::Queue& queue, const AsofColumns& columns, uint64_t low_group,
                      uint64_t* groups);
void make_asof_keys(base::Queue& queue, const AsofColumns& columns, kernels::WideKey* keys);

enum class AsofKeys { kSigned, kUnsigned, kWide };  // int64_t, uint64_t, kernels::WideKey

// Keys in their order, equal ones by row number.
struct SortedSide {
  const void* keys = nullptr;
  const uint32_t* rows = nullptr;  // their row numbers; null: their places
  uint32_t count = 0;
};

// found: [left.count], of each left key the right row, or GPUJOIN_NO_ROW. Answers how many have
// one. Waits for the stream.
uint64_t match_asof(base::Queue& queue, AsofKeys keys, const SortedSide& left,
                    const SortedSide& right, const kernels::AsofRule& rule, uint32_t* found);

// Of the left rows that have a match, in their order, and their right rows: [matches] uint32 each.
// Queued on the stream.
struct AsofPairs {
  base::Buffer left;
  base::Buffer right;
};
AsofPairs asof_pairs(base::Queue& queue, const SortedSide& left, const uint32_t* found,
                     uint64_t matches);

}  // namespace gpujoin::match
