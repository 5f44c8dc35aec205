// see_repeats.cuh: whether keys of either side repeat, and both lie in their order, as rows drawn
// from all of them show
//
// Source   ours
// In       keys of both sides, of kSeeThreads rows each at least
// Out      *answer: a RepeatsAnswer
// Needs    state all 0, which it is again afterwards
// Launch   kSeeBlocks blocks for each side, of kSeeThreads
// Moves    a sector a row drawn, kSeeBlocks * kSeeThreads of each side
// Shared   a key and two slots of a row a thread
//
// A block draws no row twice, so that of unique keys no two are equal. Of 2^16 rows of a side each
// meets the others of its block: 2^25 pairs, of which one in as many as there are keys is equal.
// Rows of a block go up by its threads, and so do the keys of a side in order. NULLs have none.
#pragma once

#include <cstdint>

#include "kernels/last_block.cuh"
#include "kernels/sample/sampled_column.cuh"
#include "kernels/sample/seen_repeats.hpp"
#include "kernels/transform/key_range.hpp"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kSeeThreads)
    see_repeats_kernel(SampledColumn<Key> build, SampledColumn<Key> probe, SeeState* state,
                       unsigned long long* answer) {
  constexpr uint32_t kSlots = 2 * kSeeThreads;
  constexpr uint32_t kFree = ~0U;
  __shared__ Key keys[kSeeThreads];
  __shared__ uint32_t slots[kSlots];
  uint32_t const thread = threadIdx.x;
  uint32_t const side = blockIdx.x / kSeeBlocks;
  SampledColumn<Key> const& column = side == 0 ? build : probe;
  // A row of the thread's own part of the column.
  uint64_t const part = static_cast<uint64_t>(column.rows) / kSeeThreads;
  uint64_t const drawn = mix_key(blockIdx.x % kSeeBlocks * kSeeThreads + thread) % part;
  auto const row = static_cast<int64_t>(part * thread + drawn);
  bool const has_key = column.is_valid(row);
  Key const key = column.keys[row];
  keys[thread] = key;
  for (uint32_t i = thread; i < kSlots; i += kSeeThreads) slots[i] = kFree;
  __syncthreads();
  bool const descends =
      column.validity != nullptr || (thread != 0 && is_before(key, keys[thread - 1]));
  bool repeats = false;
  if (has_key) {
    uint32_t slot = static_cast<uint32_t>(mix_key(key)) % kSlots;
    while (true) {
      uint32_t const there = atomicCAS(&slots[slot], kFree, thread);
      if (there == kFree) break;
      if (keys[there] == key) {
        repeats = true;
        break;
      }
      slot = (slot + 1) % kSlots;
    }
  }
  int const count = __syncthreads_count(static_cast<int>(repeats));
  bool const any_descends = __syncthreads_or(static_cast<int>(descends)) != 0;
  if (thread != 0) return;
  if (count != 0) atomicAdd(&state->repeats[side], static_cast<uint32_t>(count));
  if (any_descends) state->descends = 1;
  if (!comes_last(&state->finished)) return;
  volatile SeeState* const all = state;
  RepeatsAnswer const seen =
      RepeatsAnswer::of(all->repeats[0], all->repeats[1], all->descends == 0);
  *state = {};
  __threadfence_system();
  *static_cast<volatile unsigned long long*>(answer) = seen.word;
}

}  // namespace gpujoin::kernels
