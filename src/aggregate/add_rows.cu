// add_rows.cu: host side of what is added to states, by kind of state.
#include "kernels/aggregate/add_rows.cuh"

#include "src/aggregate/aggregate.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::aggregate {

using base::check;
using base::Memory;
using kernels::GroupState;
using kernels::StateKind;

base::Buffer empty_state(base::Queue& queue, const GroupState& state, uint64_t groups) {
  uint64_t const words = base::checked_bytes(groups, static_cast<uint64_t>(state.words));
  base::Buffer values =
      queue.device_pool->allocate_rows<uint64_t>(Memory::kDevice, words, "states of groups");
  if (groups == 0) return values;
  check(cudaMemsetAsync(values.data(), kernels::first_byte_of(state.kind), words * sizeof(uint64_t),
                        base::stream_of(queue)),
        "clearing states of groups");
  return values;
}

namespace {

template <StateKind kKind, int kWords>
void launch(base::Queue& queue, const GroupState& state, const uint32_t* groups, uint64_t rows) {
  unsigned const blocks =
      base::grid_of(queue, rows, kernels::kStreamThreads, kernels::kAddBlocksPerSm);
  auto const kernel = groups == nullptr ? kernels::add_rows_kernel<kKind, kWords, false>
                                        : kernels::add_rows_kernel<kKind, kWords, true>;
  base::launch_dependent(queue, kernel, blocks, kernels::kStreamThreads, 0, "adding rows to groups",
                         state, groups, rows);
}

}  // namespace

void add_rows(base::Queue& queue, const GroupState& state, const uint32_t* groups, uint64_t rows) {
  if (rows == 0 || state.is_null) return;
  switch (state.kind) {
    case StateKind::kRows:
      return launch<StateKind::kRows, 1>(queue, state, groups, rows);
    case StateKind::kSum:
      if (state.words == 2) return launch<StateKind::kSum, 2>(queue, state, groups, rows);
      return launch<StateKind::kSum, kernels::kMostSumWords>(queue, state, groups, rows);
    case StateKind::kFloatSum:
      return launch<StateKind::kFloatSum, 1>(queue, state, groups, rows);
    case StateKind::kLeast:
      return launch<StateKind::kLeast, 1>(queue, state, groups, rows);
    case StateKind::kGreatest:
      return launch<StateKind::kGreatest, 1>(queue, state, groups, rows);
    case StateKind::kLeastRow:
      return launch<StateKind::kLeastRow, 1>(queue, state, groups, rows);
    case StateKind::kGreatestRow:
      return launch<StateKind::kGreatestRow, 1>(queue, state, groups, rows);
    case StateKind::kAnyRow:
      return launch<StateKind::kAnyRow, 1>(queue, state, groups, rows);
  }
}

}  // namespace gpujoin::aggregate
