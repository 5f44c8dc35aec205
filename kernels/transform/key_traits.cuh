// key_traits.cuh: what one scan of the build side's keys tells before a table of addresses is made
// of them: their range, whether some of them repeat, and whether both sides lie in order
//
// Source   ours; a sample by the hash of the value, so that all rows of a key are in it or none, is
//          Gibbons' distinct sampling (VLDB 2001)
// In       keys[rows]  Key, and of the other side probe_keys[probe_rows], or none
// Out      the answer: the range as of key_range.cuh, and flags: a key was met twice; in some
//          windows of a side a row has a lower key than the row before it, or the same. Keys that
//          few rows repeat may be missed, and so may rows out of order
// Needs    state all 0, which it is again afterwards; keys whose mixed upper half is below
//          `sampled` are looked for twice
// Launch   as key_range.cuh
// Moves    rows * |Key| read, kOrderWindows * 32 keys of both sides; slots of the sample in L2
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/dependent_launch.cuh"
#include "kernels/last_block.cuh"
#include "kernels/transform/key_range.cuh"
#include "kernels/transform/key_traits.hpp"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct SeenOfWindow {
  bool descends;
  bool repeats;
};

// All lanes of a warp. Lane 0 has the first row of the window before in the place of the row before
// its own, so that runs in order one after the other are told from a side in order.
template <typename Key>
__device__ __forceinline__ SeenOfWindow see_window(const Key* __restrict__ keys, uint32_t rows,
                                                   uint32_t window) {
  constexpr uint32_t kLanes = 32;
  auto const first_of = [&](uint32_t number) {
    return rows <= kLanes ? uint64_t{0} : uint64_t{rows - kLanes} * number / (kOrderWindows - 1);
  };
  uint32_t const lane = threadIdx.x % kLanes;
  uint64_t const row = first_of(window) + lane;
  bool const is_row = row < rows;
  Key const key = is_row ? keys[row] : Key{0};
  Key const far = keys[first_of(window == 0 ? 0 : window - 1)];
  Key const near = __shfl_up_sync(0xffffffffU, key, 1);
  return {is_row && is_before(key, lane == 0 ? far : near), is_row && lane != 0 && key == near};
}

// Whether the key is there already. Few of the sample's slots are taken: what finds none in some
// steps is left.
template <typename Key>
__device__ __forceinline__ bool put_sampled(Key mixed, Key* slots) {
  using Word = std::conditional_t<sizeof(Key) == 4, unsigned int, unsigned long long>;
  constexpr uint32_t kMostSteps = 16;
#pragma unroll 1
  for (uint32_t step = 0; step < kMostSteps; ++step) {
    auto* const slot =
        reinterpret_cast<Word*>(slots) + ((static_cast<uint32_t>(mixed) + step) % kSampleSlots);
    // Of a key that comes often all but few see it, and no atomics queue up.
    Word there = __ldcg(slot);
    if (there == 0) there = atomicCAS(slot, Word{0}, static_cast<Word>(mixed));
    if (there == mixed) return true;
    if (there == 0) return false;
  }
  return false;
}

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    key_traits_kernel(const Key* __restrict__ keys, uint32_t rows,
                      const Key* __restrict__ probe_keys, uint32_t probe_rows, uint32_t sampled,
                      KeyTraitsState<Key>* state, KeyTraitsAnswer* answer) {
  __shared__ uint32_t of_block;
  __shared__ bool is_last;
  await_last_kernel();
  if (threadIdx.x == 0) of_block = 0;
  uint32_t flags = 0;
  uint32_t const warps = gridDim.x * (kStreamThreads / 32);
  for (uint32_t i = blockIdx.x * (kStreamThreads / 32) + threadIdx.x / 32; i < 2 * kOrderWindows;
       i += warps) {
    bool const of_build = i < kOrderWindows;
    if (!of_build && probe_rows == 0) break;
    SeenOfWindow const window = of_build ? see_window(keys, rows, i)
                                         : see_window(probe_keys, probe_rows, i - kOrderWindows);
    if (window.descends) flags |= of_build ? kBuildDescends : kProbeDescends;
    if (window.repeats) flags |= of_build ? kKeyRepeats : kProbeRepeats;
  }
  SeenByBlock<Key> seen = see_keys(keys, rows, [&](uint64_t, Key key) {
    Key const mixed = mix_key(key);
    bool const is_sampled = static_cast<uint32_t>(mixed >> (8 * (sizeof(Key) - 4))) < sampled;
    if (!is_sampled || mixed == 0 || (flags & kKeyRepeats) != 0) return;
    if (put_sampled(mixed, state->slots)) flags |= kKeyRepeats;
  });
  flags = __reduce_or_sync(0xffffffffU, flags);
  if (threadIdx.x % 32 == 0 && flags != 0) atomicOr(&of_block, flags);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (of_block != 0) atomicOr(&state->flags, of_block);
    note_block(seen, &state->seen);
    is_last = comes_last(&state->seen.finished);
    if (is_last) {
      auto const* const noted = static_cast<const volatile KeyTraitsState<Key>*>(state);
      take_noted(noted->seen, &seen);
      answer->content = {range_of(seen), noted->flags};
      give_answer(answer);
    }
  }
  __syncthreads();
  if (!is_last) return;
  static_assert(sizeof(KeyTraitsState<Key>) % sizeof(uint4) == 0);
  auto* const words = reinterpret_cast<uint4*>(state);
  for (uint32_t i = threadIdx.x; i < sizeof(KeyTraitsState<Key>) / sizeof(uint4);
       i += kStreamThreads) {
    words[i] = {};
  }
}

}  // namespace gpujoin::kernels
