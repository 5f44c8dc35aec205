// finish_groups.cuh: the values of groups from their states
//
// Source   ours
// In       groups[count], or null: 0, 1, 2 ...; the output's states
// Out      output.target[count]; bits[ceil(count / 32)] of the values that are there; counts->nulls
//          and counts->first_too_large
// Needs    counts->nulls 0, counts->first_too_large all ones
// Launch   a thread a group, rounded up to whole warps; dependent
// Moves    the state's words a group, and its value
#pragma once

#include <cstdint>

#include "kernels/aggregate/states.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct FinishedCounts {
  unsigned long long first_too_large;
  unsigned long long nulls;
};

__global__ void __launch_bounds__(kStreamThreads)
    finish_groups_kernel(const __grid_constant__ GroupOutput output,
                         const uint32_t* __restrict__ groups, uint64_t count, uint32_t* bits,
                         FinishedCounts* counts) {
  await_last_kernel();
  uint64_t const at = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  Finished finished = Finished::kNull;
  if (at < count) finished = finish_group(output, groups == nullptr ? at : groups[at], at);
  uint32_t const there = __ballot_sync(0xffffffffU, finished != Finished::kNull);
  if (finished == Finished::kTooLarge) atomicMin(&counts->first_too_large, at);
  if (threadIdx.x % 32 != 0 || at >= count) return;
  bits[at / 32] = there;
  uint64_t const rows = count - at < 32 ? count - at : 32;
  auto const nulls = rows - static_cast<uint64_t>(__popc(there));
  if (nulls != 0) atomicAdd(&counts->nulls, static_cast<unsigned long long>(nulls));
}

// Whether a group has a row, for a selection.
struct HasRows {
  const uint64_t* rows;
  __device__ bool operator()(uint32_t group) const { return rows[group] != 0; }
};

}  // namespace gpujoin::kernels
