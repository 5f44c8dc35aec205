// small_table.cuh: a join of few rows in one launch: look at the keys, make a table, probe it and
// write the output columns
//
// Source   ours: what direct_table.cuh, global_table.cuh and table_columns.cuh do one launch after
//          the other, and the wait between them, take longer than the work where there are few rows
// In       keys of both sides, columns of both sides in the order of the keys
// Out      target[] of each column, without holes; the answer. Of repeated build keys that are
//          refused, of a key with more rows than are chained, or that seems to have them, and of
//          more output rows by chains than `most_chained`, as the first foretell, nothing of it has
//          a meaning. Rows beyond the room are counted only
// Needs    state all 0, which it is again afterwards; slots for both kinds of table; of unique
//          build keys room for as many output rows as there are probe rows
// Launch   cooperative
// Moves    as the tables, the columns of the build side read where they are
//
//   slots: dense keys: 4 bytes a place, the build row; others: 4 bytes a slot of narrow_slots.cuh,
//   four times as many as rows
//   chains: the row behind each build row of the same key (chained_rows.cuh)
//   where build keys are seen to repeat, and those of the other side less, the sides change roles
//   (table_of_either)
#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <type_traits>

#include "kernels/block_flag.cuh"
#include "kernels/block_sync.cuh"
#include "kernels/last_block.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/chained_rows.cuh"
#include "kernels/match/narrow_slots.cuh"
#include "kernels/match/small_rows.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/match/table_columns.cuh"
#include "kernels/match/whole_columns.cuh"
#include "kernels/transform/key_range.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <bool kNulls, typename Key>
__device__ __forceinline__ bool is_build_row(const SmallTableJoin<Key>& join, uint64_t row) {
  return row < join.build_rows && (!kNulls || is_valid(join.build_present, row));
}

// Some keys are loaded before the first of them is used: the loads are what such a loop waits for.
// function(keys, rows, which are rows).
template <bool kNulls, typename Key, typename Function>
__device__ __forceinline__ void each_build_batch(const SmallTableJoin<Key>& join,
                                                 Function function) {
  constexpr int kAtOnce = 4;
  uint32_t const stride = gridDim.x * kSmallTableThreads;
  uint64_t const warp = blockIdx.x * kSmallTableThreads + threadIdx.x / 32 * 32;
  for (uint64_t start = warp; start < join.build_rows; start += uint64_t{stride} * kAtOnce) {
    Key keys[kAtOnce];
    uint32_t rows[kAtOnce];
    uint32_t are_rows = 0;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const row = start + threadIdx.x % 32 + uint64_t{stride} * i;
      rows[i] = static_cast<uint32_t>(row);
      if (!is_build_row<kNulls>(join, row)) continue;
      keys[i] = join.build_keys[row];
      are_rows |= 1U << i;
    }
    function(keys, rows, are_rows);
  }
}

template <typename Key>
__device__ __forceinline__ uint32_t blocks_with_rows(const SmallTableJoin<Key>& join) {
  return min(gridDim.x, (join.build_rows - 1) / kSmallTableThreads + 1);
}

// How many of a warp's rows have a key that another one has, too. All lanes.
template <typename Key>
__device__ __forceinline__ uint32_t repeats_in_warp(bool is_row, Key key) {
  uint32_t const are_rows = __ballot_sync(0xffffffffU, is_row);
  uint32_t same = 0;
  if (is_row) same = __match_any_sync(are_rows, key);
  return __popc(__ballot_sync(0xffffffffU, __popc(same) > 1));
}
// Of the first keys of both sides, of a join whose sides may change roles. Warps tell the block,
// and one thread the device: each warp by itself would queue up at one word of L2.
template <typename Key>
struct SeenRepeats {
  static constexpr int kWarps = kSmallTableThreads / 32;
  uint32_t of_warps[2][kWarps];

  __device__ __forceinline__ void note(bool is_build_row, Key build_key, bool is_probe_row,
                                       Key probe_key) {
    uint32_t const build = repeats_in_warp(is_build_row, build_key);
    uint32_t const probe = repeats_in_warp(is_probe_row, probe_key);
    if (threadIdx.x % 32 != 0) return;
    of_warps[0][threadIdx.x / 32] = build;
    of_warps[1][threadIdx.x / 32] = probe;
  }
  // All threads, a barrier later.
  __device__ __forceinline__ void add_to(SmallTableState* state) const {
    static_assert(2 * kWarps == 32);
    if (threadIdx.x >= 32) return;
    uint32_t const side = threadIdx.x / kWarps;
    uint32_t seen = of_warps[side][threadIdx.x % kWarps];
#pragma unroll
    for (int step = kWarps / 2; step > 0; step /= 2)
      seen += __shfl_xor_sync(0xffffffffU, seen, step);
    if (threadIdx.x % kWarps == 0 && seen != 0) atomicAdd(&state->repeats_seen[side], seen);
  }
};
// Whether a build key has more further rows than one of the probe side, as those that were seen
// show. Where keys of both repeat the side with fewer rows of a key makes shorter chains.
template <typename Key>
__device__ __forceinline__ bool repeats_more(const SmallTableJoin<Key>& join,
                                             const volatile SmallTableState* state) {
  uint32_t const build = state->repeats_seen[0];
  if (build <= join.most_repeats_seen) return false;
  auto const further_rows = [&](uint32_t seen, uint32_t rows) {
    uint32_t const looked_at = min(rows, blocks_with_rows(join) * kSmallTableThreads);
    return static_cast<float>(seen) / static_cast<float>(looked_at) * static_cast<float>(rows);
  };
  return further_rows(build, join.build_rows) >
         further_rows(state->repeats_seen[1], join.output.probe_rows);
}

// Whether the keys are too far apart for places as the block's own show, which all keys are then,
// too: all threads have the answer.
template <bool kNulls, typename Key>
__device__ __forceinline__ bool note_build_keys(const SmallTableJoin<Key>& join) {
  // Mostly the first 32 keys of a warp tell, before the others have come.
  uint64_t const first_row = blockIdx.x * kSmallTableThreads + threadIdx.x;
  TurnedRange<Key> first;
  bool const may_turn = join.most_repeats_seen != kAnyRepeats;
  bool const is_row = is_build_row<kNulls>(join, first_row);
  bool const is_probe_row = may_turn && first_row < join.output.probe_rows &&
                            (!kNulls || is_valid(join.probe_present, first_row));
  Key const key = is_row ? join.build_keys[first_row] : Key{0};
  Key const probe_key = is_probe_row ? join.output.probe_keys[first_row] : Key{0};
  if (is_row) first.add_key(key);
  __shared__ SeenRepeats<Key> repeats;
  if (may_turn) repeats.note(is_row, key, is_probe_row, probe_key);
  first.add_lanes();
  bool is_scattered = small_direct_table(join, first).places == 0;
  bool const are_scattered = __syncthreads_or(static_cast<int>(is_scattered)) != 0;
  if (may_turn) repeats.add_to(join.state);
  if (!are_scattered) {
    TurnedRange<Key> range;
    each_build_batch<kNulls>(join, [&](const auto& keys, const auto&, uint32_t are_rows) {
      range.add_keys(keys, are_rows);
    });
    add_block<kSmallTableThreads>(range);
    if (threadIdx.x == 0) {
      is_scattered = small_direct_table(join, range).places == 0;
      if (!is_scattered) note_range(range, &join.state->noted);
    }
    if (__syncthreads_or(static_cast<int>(is_scattered)) == 0) return false;
  }
  if (threadIdx.x == 0) atomicAdd(&join.state->scattered, 1U);
  return true;
}

// A warp of each block looks at rows far apart, of which more have one key than any key has that is
// chained, as good as always: then all know before any row is. H200, 10^5 x 8*10^4 rows, skewed by
// 1.28, 81 us for chains that end the join.
template <bool kNulls, typename Key>
__device__ __forceinline__ void note_hot_keys(const SmallTableJoin<Key>& join) {
  constexpr uint32_t kFewest = 4;
  // A key of fewer rows may have more of them in its chain.
  constexpr uint32_t kChained = 32 * kMostChainedRows * 10;
  if (join.repeated == RepeatedKeys::kOneRow || threadIdx.x / 32 != 1) return;
  uint32_t const part = join.build_rows / 32;
  if (part == 0) return;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const drawn = mix_key(blockIdx.x * 32 + lane) % part;
  uint64_t const row = uint64_t{part} * lane + drawn;
  bool const is_row = is_build_row<kNulls>(join, row);
  uint32_t const are_rows = __ballot_sync(0xffffffffU, is_row);
  if (!is_row) return;
  uint32_t const same = __match_any_sync(are_rows, join.build_keys[row]);
  uint32_t const more = (kChained + join.build_rows - 1) / join.build_rows;
  if (__popc(same) >= kFewest + more) join.state->too_many = 1;
}

// Of the range that all blocks found together; places == 0: some keys are scattered, as *scattered
// blocks have seen. One thread of each block asks: all of them would queue up at one sector of L2.
// *are_hot, *repeat: as note_hot_keys() and repeats_more() have it.
template <typename Key>
__device__ __forceinline__ DirectTable<Key> noted_direct_table(const SmallTableJoin<Key>& join,
                                                               uint32_t* scattered, bool* are_hot,
                                                               bool* repeat) {
  __shared__ SmallPlaces<Key> seen;
  __shared__ uint32_t seen_scattered;
  __shared__ bool seen_hot;
  __shared__ bool seen_repeats;
  if (threadIdx.x == 0) {
    auto const* const state = static_cast<volatile const SmallTableState*>(join.state);
    seen_scattered = state->scattered;
    seen_hot = state->too_many != 0;
    seen_repeats = repeats_more(join, state);
    DirectTable<Key> const table = small_direct_table(join, noted_range<Key>(join.state->noted));
    // Not before, which would be two ways to L2 in a row.
    seen = {table, seen_scattered != 0 ? 0 : table.places};
  }
  __syncthreads();
  *scattered = seen_scattered;
  *are_hot = seen_hot;
  *repeat = seen_repeats;
  return table_of(seen);
}

template <bool kNulls, typename Key>
__device__ __forceinline__ void place_small_rows(const SmallTableJoin<Key>& join,
                                                 const DirectTable<Key>& table) {
  // An exchange tells at once that the place is taken. To store, and to read all rows again
  // afterwards, was slower: 10^6 x 10^6 rows on an H200 75 us instead of 70.
  auto* const places = reinterpret_cast<uint32_t*>(join.slots);
  bool repeats = false;
  each_build_batch<kNulls>(join, [&](const auto& keys, const auto& rows, uint32_t are_rows) {
    uint32_t const repeated = place_rows(places, table, keys, rows, are_rows, join.chains.next);
    repeats |= repeated != 0;
    note_firsts(join.chains, rows, are_rows & ~repeated, join.build_rows);
  });
  if (repeats) join.state->repeats = 1;
}

template <typename Key>
__device__ __forceinline__ NarrowTable<Key> narrow_table_of(const SmallTableJoin<Key>& join) {
  auto const mask = static_cast<uint32_t>(2 * join.mask + 1);
  return {reinterpret_cast<uint32_t*>(join.slots), mask, join.build_keys, join.chains.next};
}

template <bool kNulls, typename Key>
__device__ __forceinline__ void hash_small_rows(const SmallTableJoin<Key>& join) {
  NarrowTable<Key> const table = narrow_table_of(join);
  bool repeats = false;
  each_build_batch<kNulls>(join, [&](const auto& keys, const auto& rows, uint32_t are_rows) {
    uint32_t const repeated = hash_rows(table, keys, rows, are_rows);
    repeats |= repeated != 0;
    note_firsts(join.chains, rows, are_rows & ~repeated, join.build_rows);
  });
  if (repeats) join.state->repeats = 1;
}

// 16 bytes at a time: slots [first, end), both even.
__device__ __forceinline__ void free_slots(unsigned long long* slots, uint64_t first,
                                           uint64_t end) {
  auto* const pairs = reinterpret_cast<ulonglong2*>(slots);
  uint64_t const stride = gridDim.x * kSmallTableThreads;
  uint64_t const thread = blockIdx.x * kSmallTableThreads + threadIdx.x;
  for (uint64_t i = first / 2 + thread; i < end / 2; i += stride) pairs[i] = {kFreeSlot, kFreeSlot};
}

// All threads of all blocks, at the end. The last block to come tells the host, which then needs no
// copy of the state, and lets go of the rows where keys repeat.
template <typename Key>
__device__ __forceinline__ void answer_small_join(const SmallTableJoin<Key>& join, bool is_direct) {
  block_sync();
  if (threadIdx.x != 0) return;
  if (!comes_last(&join.state->finished)) return;
  volatile SmallTableState* const state = join.state;
  unsigned long long const rows = state->rows;
  unsigned long long const started = state->started;
  bool const is_refused = state->repeats != 0 && join.repeated == RepeatedKeys::kRefused;
  bool const in_vain = is_refused || state->too_many != 0;
  *join.state = {};
  bool const is_turned = join.before_turning != nullptr;
  if (is_turned) *join.before_turning = {};
  tell_host(join.answer, in_vain ? 0 : rows, is_direct, in_vain, started, is_turned);
}

// All threads, when the table is made.
template <bool kNulls, int kWidth, int kItems, typename Key, typename Finder>
__device__ __forceinline__ void probe_small_table(const SmallTableJoin<Key>& join,
                                                  const Finder& of_any) {
  std::conditional_t<kNulls, AmongPresent<Finder>, Finder> finder{of_any};
  if constexpr (kNulls) finder.present = join.probe_present;
  if (!is_set_by_now(&join.state->repeats) || join.repeated == RepeatedKeys::kOneRow) {
    return write_whole_columns<kSmallTableThreads, kWidth, kItems, NoRow>(join.output, finder,
                                                                          &join.state->rows);
  }
  if (join.repeated == RepeatedKeys::kRefused) return;
  constexpr int kChained = 2;  // with four, registers of unique keys spill, too
  write_chained_columns<kSmallTableThreads, kWidth, kChained>(join.output, finder, join.chains,
                                                              join.most_chained, &join.state->rows,
                                                              &join.state->too_many);
}

// kNulls: some rows have no bit among those that are present. False, and nothing has been written:
// more keys are seen to repeat than join.most_repeats_seen.
template <int kWidth, bool kNulls, typename Key>
__device__ __forceinline__ bool join_few_rows(const SmallTableJoin<Key>& join) {
  constexpr int kItems = kWidth == 4 && sizeof(Key) == 4 ? kTableItems : kTableItemsWide;
  auto const grid = cooperative_groups::this_grid();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    join.state->started =
        join.before_turning != nullptr ? join.before_turning->started : nanoseconds();
  }
  uint64_t const all = join.mask + 1;
  // What the densest keys want is cleared while the range is looked for, which saves them a
  // barrier. The rest is what scattered keys want, and by then each block knows of them by itself,
  // or has no rows.
  uint64_t const ahead =
      join.most_places == 0 ? all : min(all, (uint64_t{join.build_rows} + 3) / 4 * 2);
  free_slots(join.slots, 0, ahead);
  note_hot_keys<kNulls>(join);
  bool frees_all = false;
  if (join.most_places != 0) {
    frees_all = blockIdx.x >= blocks_with_rows(join) || note_build_keys<kNulls>(join);
    if (frees_all) free_slots(join.slots, ahead, all);
  }
  grid.sync();
  DirectTable<Key> direct{};
  bool are_all_free = true;
  bool are_hot = false;
  if (join.most_places != 0) {
    uint32_t scattered = 0;
    bool repeat = false;
    direct = noted_direct_table(join, &scattered, &are_hot, &repeat);
    if (repeat) return false;
    are_all_free = scattered == blocks_with_rows(join);
  } else {
    are_hot = is_set_by_now(&join.state->too_many);
  }
  if (are_hot) {
    answer_small_join(join, direct.places != 0);
    return true;
  }
  uint64_t const wanted = direct.places != 0 ? (uint64_t{direct.places} + 3) / 4 * 2 : all;
  if (wanted > ahead && !are_all_free) {
    if (!frees_all) free_slots(join.slots, ahead, min(all, wanted));
    grid.sync();
  }
  if (direct.places != 0) {
    place_small_rows<kNulls>(join, direct);
  } else {
    hash_small_rows<kNulls>(join);
  }
  grid.sync();

  if (direct.places != 0) {
    FindSmallPlaces<Key> const finder = {direct, reinterpret_cast<const uint32_t*>(join.slots)};
    if (blockIdx.x == 0 && threadIdx.x == 0) *join.places = {direct, direct.places};
    probe_small_table<kNulls, kWidth, kItems>(join, finder);
  } else {
    FindNarrowRows<Key> const finder = {narrow_table_of(join)};
    probe_small_table<kNulls, kWidth, kItems>(join, finder);
  }
  answer_small_join(join, direct.places != 0);
  return true;
}

template <typename Key, int kWidth, bool kNulls>
__global__ void __launch_bounds__(kSmallTableThreads, 2)
    small_table_kernel(const __grid_constant__ SmallTableJoin<Key> join) {
  join_few_rows<kWidth, kNulls>(join);
}

// turned: the same join with the sides in each other's place, which counts no repeats.
template <typename Key, int kWidth, bool kNulls>
__global__ void __launch_bounds__(kSmallTableThreads, 2)
    table_of_either_kernel(const __grid_constant__ SmallTableJoin<Key> join,
                           const __grid_constant__ SmallTableJoin<Key> turned) {
  if (!join_few_rows<kWidth, kNulls>(join)) join_few_rows<kWidth, kNulls>(turned);
}

// The same table asked once more, by a launch that has room for rows which the first one counted.
template <typename Key, int kWidth>
__global__ void __launch_bounds__(kSmallChainThreads)
    small_chains_kernel(const __grid_constant__ SmallTableJoin<Key> join, bool is_direct) {
  constexpr int kItems = kWidth == 4 ? kTableItems : kTableItemsWide;
  if (blockIdx.x == 0 && threadIdx.x == 0) join.state->started = nanoseconds();
  auto const write = [&](const auto& finder) {
    write_chained_columns<kSmallChainThreads, kWidth, kItems>(
        join.output, finder, join.chains, kNoLimit, &join.state->rows, &join.state->too_many);
  };
  if (is_direct) {
    FindSmallPlaces<Key> const finder = {table_of(*join.places),
                                         reinterpret_cast<const uint32_t*>(join.slots)};
    write(AmongPresent<FindSmallPlaces<Key>>{finder, join.probe_present});
  } else {
    FindNarrowRows<Key> const finder = {narrow_table_of(join)};
    write(AmongPresent<FindNarrowRows<Key>>{finder, join.probe_present});
  }
  answer_small_join(join, is_direct);
}

}  // namespace gpujoin::kernels
