// asof.hpp: ASOF joins on the CPU: both sides in the order of a group of equal keys and a place in
// it, as they are or sorted, and a merge of both, tile by tile.
#pragma once

#include <cstdint>

#include "kernels/match/asof_rule.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// What the rows of a side are ordered by.
struct AsofColumns {
  const uint64_t* places = nullptr;  // [rows]
  uint64_t turned = 0;               // bits of a place to turn, for the order of unsigned numbers
  const void* groups = nullptr;      // [rows] of 4 or 8 bytes; null: there is one
  int32_t group_width = 0;
  const uint64_t* valid = nullptr;  // bits of the rows that take part; null: all
  uint64_t rows = 0;
};

// How a side came to be in order.
enum class AsofOrder { kAsItLies, kByGroups, kSorted };
const char* to_text(AsofOrder order);

// Left rows with a match, ascending, and their right rows.
struct AsofPairs {
  base::Buffer left;
  base::Buffer right;
  uint64_t count = 0;
  AsofOrder left_order = AsofOrder::kAsItLies;
  AsofOrder right_order = AsofOrder::kAsItLies;
  int32_t left_bits = 0;  // by which it was sorted
  int32_t right_bits = 0;
};

// rule: of codes; places and groups are found here.
AsofPairs asof_pairs(base::Queue& queue, Workers& workers, const AsofColumns& left,
                     const AsofColumns& right, kernels::AsofRule rule);

}  // namespace gpujoin::cpu
