// added_rows.hpp: a batch of rows added to the states of their groups.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/aggregate/states.hpp"

namespace gpujoin::cpu {

// Rows that are added at a time.
struct AddedRows {
  const uint32_t* groups = nullptr;   // null: all are of group 0
  const std::byte* values = nullptr;  // one after the other; of states of rows, their numbers
  const uint64_t* valid = nullptr;    // bits; null: all are
  uint32_t rows = 0;
};

inline bool is_set(const uint64_t* bits, uint32_t row) {
  return bits == nullptr || (bits[row / 64] >> (row % 64) & 1) != 0;
}

// is_shared: other workers may add to the same groups.
void add_rows(const kernels::GroupState& state, const AddedRows& added, bool is_shared);

// Adds what another worker's state of one group has.
void merge_group(const kernels::GroupState& state, uint64_t* group, const uint64_t* other);

}  // namespace gpujoin::cpu
