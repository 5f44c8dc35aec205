// draw_sample.cuh: the keys at both sides' sample rows
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key of both sides, with validity bits
// Out      filter and probe_bounds, first, as has_filter of the flags says; table, as has_table
//          says; build, probe; hot keys; everything else set to its start
// Needs    Rule: sample_row(i, rows), sample_hash(key), ... of src/plan/sample_rule.hpp
// Launch   kSampleDrawBlocks of kSampleDrawThreads, sizeof(SharedSample) dynamic shared: the first
//          makes the filter, then as many as parts draw from the probe side, and from the build
//          side
// Moves    a sector a position and block, two more a position
// Shared   a part of the table, or the filter
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/sample/key_distances.cuh"
#include "kernels/sample/ready_flag.cuh"
#include "kernels/sample/sample_buffers.cuh"
#include "kernels/sample/sampled_column.cuh"
#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint32_t kSampleDrawBlocks = 1 + 2 * kSampleParts;

// Of one block.
template <typename Rule, typename Key>
struct SharedSample {
  Key keys[Rule::kPositions];
  uint32_t draws[Rule::kPositions];
  int32_t slots[Rule::kPositions];  // positions of keys of the part, or -1

  // Looked at before it is taken: draws of one key would else queue up to take its slot.
  __device__ __forceinline__ void insert(Key key, int32_t position) {
    using Table = SampleTable<Rule, Key>;
    volatile int32_t* const seen = slots;
    uint32_t slot = Table::slot_of(key);
    while (true) {
      int32_t holder = seen[slot];
      if (holder < 0) holder = atomicCAS(&slots[slot], -1, position);
      if (holder < 0) holder = position;
      if (keys[holder] == key) {
        atomicAdd(&draws[holder], 1U);
        return;
      }
      slot = Table::slot_after(slot);
    }
  }
};

// The keys of a side at its sample rows, item by item for all threads of a block.
template <typename Rule, typename Key>
struct DrawnItems {
  static constexpr int kItems = Rule::kPositions / kSampleDrawThreads;
  static_assert(kItems * kSampleDrawThreads == Rule::kPositions);

  Key keys[kItems];
  uint32_t valid = 0;  // as bits

  __device__ __forceinline__ explicit DrawnItems(const SampledColumn<Key>& column) {
    int32_t const positions = Rule::sample_positions(column.rows);
    int64_t rows[kItems];
    // All loads of a thread at once.
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      int32_t const i = position(item);
      rows[item] = i < positions ? Rule::sample_row(i, column.rows) : -1;
      keys[item] = rows[item] >= 0 ? column.keys[rows[item]] : 0;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const has_key = rows[item] >= 0 && column.is_valid(rows[item]);
      valid += static_cast<uint32_t>(has_key) << item;
    }
  }
  __device__ __forceinline__ static int32_t position(int item) {
    return static_cast<int32_t>(item * kSampleDrawThreads + threadIdx.x);
  }
  __device__ __forceinline__ bool is_valid(int item) const { return (valid >> item & 1) != 0; }
};

// The filter over the keys drawn from the probe side, and their bounds: all that the scan needs to
// begin. Keys that were drawn twice do no harm, so it needs no table.
template <typename Rule, typename Key>
__device__ __forceinline__ void make_sample_filter(const SampledColumn<Key>& column,
                                                   uint32_t* filter,
                                                   SampleBuffers<Rule, Key>* sample,
                                                   SampleFlags* flags) {
  using Reduce = cub::BlockReduce<SampledBounds<Key>, kSampleDrawThreads>;
  __shared__ typename Reduce::TempStorage storage;
  DrawnItems<Rule, Key> const drawn(column);
  for (int i = threadIdx.x; i < Rule::kFilterWords; i += kSampleDrawThreads) filter[i] = 0;
  __syncthreads();
  SampledBounds<Key> bounds;
#pragma unroll
  for (int item = 0; item < DrawnItems<Rule, Key>::kItems; ++item) {
    if (!drawn.is_valid(item)) continue;
    auto const bits = Rule::sample_filter_bits(drawn.keys[item]);
    atomicOr(&filter[bits.word], bits.mask());
    bounds.add(drawn.keys[item]);
  }
  bounds = Reduce(storage).Reduce(bounds, AddSums());
  if (threadIdx.x == 0) {
    sample->probe_bounds = bounds;
    sample->bounds = {};
    sample->within = 0;
    sample->hot.blocks_done = 0;
    sample->findings.hot = {};
  }
  block_sync();
  for (int i = threadIdx.x; i < Rule::kFilterWords; i += kSampleDrawThreads) {
    sample->filter[i] = filter[i];
  }
  tell_ready(&flags->has_filter);
}

// Whether rows near a drawn one have keys near its own: of a share of the positions, one a thread.
template <typename Rule, typename Key>
struct RowsBeside {
  int64_t row;
  int64_t beside;
  int64_t apart;
  Key next = 0;
  Key neighbour = 0;

  // expected: row >= 0, a row of the column; or -1
  __device__ __forceinline__ RowsBeside(const SampledColumn<Key>& column, int64_t drawn)
      : row(drawn),
        beside(drawn < 0 ? -1 : Rule::neighbour_row(drawn, column.rows, Rule::kNextRow)),
        apart(drawn < 0 ? -1 : Rule::neighbour_row(drawn, column.rows, Rule::kNeighbourRows)) {
    if (beside >= 0) next = column.keys[beside];
    if (apart >= 0) neighbour = column.keys[apart];
  }
  // All threads. Whether the row's key is greater than that of the next one.
  __device__ __forceinline__ bool add(const SampledColumn<Key>& column, Key key, bool has_key,
                                      KeyDistances<Rule>& to_next,
                                      KeyDistances<Rule>& to_neighbour) const {
    bool const has_next = has_key && beside >= 0 && column.is_valid(beside);
    bool const has_neighbour = has_key && apart >= 0 && column.is_valid(apart);
    to_next.add(key, next, has_next);
    to_neighbour.add(key, neighbour, has_neighbour);
    return has_next && (beside < row ? is_before(key, next) : is_before(next, key));
  }
};

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleDrawThreads)
    draw_sample_kernel(SampledColumn<Key> build, SampledColumn<Key> probe,
                       SampleBuffers<Rule, Key>* sample, SampleFlags* flags) {
  using Items = DrawnItems<Rule, Key>;
  using Table = SampleTable<Rule, Key>;
  using Reduce = cub::BlockReduce<DrawnSums<Key>, kSampleDrawThreads>;
  static_assert(Items::kItems == kSampleParts);  // a block's share of the positions is an item
  __shared__ typename Reduce::TempStorage storage;
  __shared__ uint32_t hot_count;
  __shared__ KeyDistances<Rule> to_next, to_neighbour;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<SharedSample<Rule, Key>*>(dynamic_shared);

  let_next_kernel_start();
  if (blockIdx.x == 0) {
    static_assert(sizeof(shared) >= sizeof(sample->filter));
    auto* const filter = reinterpret_cast<uint32_t*>(dynamic_shared);
    make_sample_filter<Rule>(probe, filter, sample, flags);
    return;
  }
  bool const draws_probe = blockIdx.x <= kSampleParts;
  uint32_t const part = (blockIdx.x - 1) % kSampleParts;
  SampledColumn<Key> const column = draws_probe ? probe : build;
  int32_t const own = Items::position(static_cast<int>(part));
  bool const is_position = own < Rule::sample_positions(column.rows);
  RowsBeside<Rule, Key> const beside(column, is_position ? Rule::sample_row(own, column.rows) : -1);
  Items const drawn(column);

  if (threadIdx.x == 0) hot_count = 0;
  to_next.start();
  to_neighbour.start();
  uint32_t mine = 0;  // keys of the part, as bits
#pragma unroll
  for (int item = 0; item < Items::kItems; ++item) {
    int32_t const i = Items::position(item);
    shared.keys[i] = drawn.keys[item];
    shared.draws[i] = 0;
    shared.slots[i] = -1;
    bool const is_mine = drawn.is_valid(item) && Table::part_of(drawn.keys[item]) == part;
    mine += static_cast<uint32_t>(is_mine) << item;
  }
  __syncthreads();
  // Lanes insert whatever key of theirs it is.
  for (uint32_t left = mine; left != 0; left &= left - 1) {
    int const item = __ffs(static_cast<int>(left)) - 1;
    shared.insert(key_of_item(drawn.keys, item), Items::position(item));
  }
  __syncwarp();
  Key const own_key = key_of_item(drawn.keys, static_cast<int>(part));
  bool const has_key = drawn.is_valid(static_cast<int>(part));
  DrawnSums<Key> sums;
  sums.descents = beside.add(column, own_key, has_key, to_next, to_neighbour) ? 1 : 0;
  if (has_key) {
    sums.valid = 1;
    sums.bounds.add(own_key);
  }
  block_sync();

  uint32_t const least_hot = Rule::hot_draws(build.rows);
#pragma unroll
  for (int item = 0; item < Items::kItems; ++item) {
    if ((mine >> item & 1) == 0) continue;
    uint32_t const draws = shared.draws[Items::position(item)];
    sums.distinct += draws != 0 ? 1 : 0;
    sums.most = max(sums.most, draws);
    sums.heavy += draws >= Rule::kHeavyDraws ? draws : 0;
    if (draws_probe) {
      sample->table.draws[Items::position(item)] = draws;
    } else if (draws >= least_hot) {
      sample->hot.keys[part][atomicAdd(&hot_count, 1U)] = drawn.keys[item];
    }
  }
  if (draws_probe) {
    sample->table.keys[own] = own_key;
    if (!has_key) sample->table.draws[own] = 0;
    sample->rows[own] = 0;
    sample->tiles[own] = 0;
#pragma unroll
    for (int item = 0; item < Items::kItems; ++item) {
      int32_t const i = Items::position(item);
      sample->table.slots[part][i] = static_cast<int16_t>(shared.slots[i]);
    }
    tell_ready(&flags->has_table[part]);
  } else if (threadIdx.x < Rule::kMostHotKeys / kSampleParts) {
    uint32_t const i = part * (Rule::kMostHotKeys / kSampleParts) + threadIdx.x;
    sample->hot.build_rows[i] = 0;
    sample->hot.probe_rows[i] = 0;
  }
  sums = Reduce(storage).Reduce(sums, AddSums());
  DrawnPart<Rule, Key>& found = (draws_probe ? sample->probe : sample->build)[part];
  if (threadIdx.x < Rule::kDistances) {
    found.to_next[threadIdx.x] = to_next.counts[threadIdx.x];
    found.to_neighbour[threadIdx.x] = to_neighbour.counts[threadIdx.x];
  }
  if (threadIdx.x != 0) return;
  found.sums = sums;
  // The block came to a barrier in the sums since the last key was added.
  if (!draws_probe) sample->hot.counts[part] = hot_count;
}

}  // namespace gpujoin::kernels
