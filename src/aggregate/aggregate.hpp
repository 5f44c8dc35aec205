// aggregate.hpp: the aggregate stage: states of groups on the device.
#pragma once

#include <cstdint>

#include "kernels/aggregate/states.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::aggregate {

// Memory for a state of so many groups, to which nothing was added.
base::Buffer empty_state(base::Queue& queue, const kernels::GroupState& state, uint64_t groups);

// See kernels/aggregate/add_rows.cuh.
void add_rows(base::Queue& queue, const kernels::GroupState& state, const uint32_t* groups,
              uint64_t rows);

// Numbers of the groups whose state is not 0, ascending. Waits for the stream.
struct SelectedGroups {
  base::Buffer numbers;  // uint32
  uint64_t count = 0;
};
SelectedGroups select_groups(base::Queue& queue, const uint64_t* state, uint64_t groups);

// See kernels/aggregate/finish_groups.cuh. Waits for the stream.
struct FinishedGroups {
  int64_t nulls = 0;
  uint64_t first_too_large = ~uint64_t{0};
};
FinishedGroups finish_groups(base::Queue& queue, const kernels::GroupOutput& output,
                             const uint32_t* groups, uint64_t count, uint32_t* bits);

}  // namespace gpujoin::aggregate
