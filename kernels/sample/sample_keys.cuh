// sample_keys.cuh: the keys at both sides' sample rows, and the sums over the build rows that have
// those of the probe side
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp; the table is the
//          one of its SampleTable
// In       draw: keys[rows] Key of both sides, with validity bits; sum: rows, tiles, bounds as
//          count_sample.cuh leaves them
// Out      draw: table, filter, findings.build, findings.probe, hot keys, everything else set to
//          its start; sum: the other findings, and all of them in page-locked host memory
// Needs    Rule: sample_row(i, rows), sample_slot(key), ... of src/plan/sample_rule.hpp, and the
//          findings' types
// Launch   draw: 3 blocks of kSampleDrawThreads, sizeof(SampleTable) dynamic shared; sum: 1 block
//          of kSampleSumThreads, dependent
// Moves    draw: two sectors a position
// Shared   draw: the table or the filter
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/host_answer.hpp"
#include "kernels/sample/key_distances.cuh"
#include "kernels/sample/sampled_column.cuh"
#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// The keys drawn from a side, by position. A key that was drawn more than once is at one of its
// positions.
template <typename Rule, typename Key>
struct SampleTable {
  Key keys[Rule::kPositions];
  int32_t slots[Rule::kSlots];  // positions of keys, or -1
  uint32_t draws
      [Rule::kPositions];  // of the key at this position; 0: it is none, or it is at another one
};

// Where a key is among those drawn from the probe side, or -1.
template <typename Rule, typename Key>
__device__ int32_t drawn_position(const SampleTable<Rule, Key>& table, Key key) {
  uint32_t slot = Rule::sample_slot(key);
  int32_t position = table.slots[slot];
  while (position >= 0 && table.keys[position] != key) {
    slot = (slot + 1) & static_cast<uint32_t>(Rule::kSlots - 1);
    position = table.slots[slot];
  }
  return position;
}

// One of some keys in registers, which have no index.
template <int kItems, typename Key>
__device__ __forceinline__ Key key_of_item(const Key (&keys)[kItems], int item) {
  Key key = keys[0];
#pragma unroll
  for (int other = 1; other < kItems; ++other) key = item == other ? keys[other] : key;
  return key;
}

// The build side's hot keys, in any order.
template <typename Rule, typename Key>
struct HotKeyTable {
  uint32_t count;
  uint32_t blocks_done;  // of the kernel that counts their rows
  Key keys[Rule::kMostHotKeys];
  // Of each side, which are fewer than 2^32.
  uint32_t build_rows[Rule::kMostHotKeys];
  uint32_t probe_rows[Rule::kMostHotKeys];
};

template <typename Rule, typename Key>
struct SampleBuffers {
  typename Rule::Findings findings;
  WideBounds bounds;          // of the scanned rows
  unsigned long long within;  // of them, with a key within the probe side's bounds
  SampleTable<Rule, Key> table;
  HotKeyTable<Rule, Key> hot;
  alignas(16) uint32_t filter[Rule::kFilterWords];  // over the keys of the table
  // Of keys[i], in the scanned rows, which are fewer than 2^32; tiles counts three for any more.
  uint32_t rows[Rule::kPositions];
  uint32_t tiles[Rule::kPositions];
};

template <typename Key>
struct DrawnSums {
  uint32_t valid = 0;
  uint32_t distinct = 0;
  uint32_t most = 0;
  uint32_t heavy = 0;
  uint32_t descents = 0;
  SampledBounds<Key> bounds;

  __device__ void add(const DrawnSums& other) {
    valid += other.valid;
    distinct += other.distinct;
    most = max(most, other.most);
    heavy += other.heavy;
    descents += other.descents;
    bounds.add(other.bounds);
  }
};

struct AddSums {
  template <typename Sums>
  __device__ Sums operator()(Sums sums, const Sums& other) const {
    sums.add(other);
    return sums;
  }
};

// The drawn keys of the build side that have rows enough. Of each the thread that holds it calls.
// All threads; count: of the block, 0.
template <typename Rule, typename Key>
__device__ __forceinline__ void add_hot_key(Key key, uint32_t draws, uint32_t least,
                                            uint32_t* count, HotKeyTable<Rule, Key>& hot) {
  if (draws < least) return;
  uint32_t const i = atomicAdd(count, 1U);
  hot.keys[i] = key;
  hot.build_rows[i] = 0;
  hot.probe_rows[i] = 0;
}

// Of a thread's keys, once: the blocks of the scan copy it. Keys that were drawn twice do no harm,
// so it needs no table and has a block of its own beside the one that makes it.
template <typename Rule, typename Key, int kItems>
__device__ void make_sample_filter(const Key (&keys)[kItems], const bool (&valid)[kItems],
                                   uint32_t* filter, uint32_t* made) {
  for (int i = threadIdx.x; i < Rule::kFilterWords; i += kSampleDrawThreads) filter[i] = 0;
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!valid[item]) continue;
    auto const bits = Rule::sample_filter_bits(keys[item]);
    atomicOr(&filter[bits.word], bits.mask());
  }
  block_sync();
  for (int i = threadIdx.x; i < Rule::kFilterWords; i += kSampleDrawThreads) made[i] = filter[i];
}

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleDrawThreads)
    draw_sample_kernel(SampledColumn<Key> build, SampledColumn<Key> probe,
                       SampleBuffers<Rule, Key>* __restrict__ sample) {
  constexpr int kItems = Rule::kPositions / kSampleDrawThreads;
  static_assert(kItems * kSampleDrawThreads == Rule::kPositions);
  using Reduce = cub::BlockReduce<DrawnSums<Key>, kSampleDrawThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ uint32_t hot_count;
  __shared__ KeyDistances<Rule> to_next, to_neighbour;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& table = *reinterpret_cast<SampleTable<Rule, Key>*>(dynamic_shared);

  let_next_kernel_start();
  bool const draws_probe = blockIdx.x == 0;
  SampledColumn<Key> const column = blockIdx.x == 1 ? build : probe;
  int32_t const positions = Rule::sample_positions(column.rows);
  DrawnSums<Key> sums;
  Key keys[kItems];
  Key next[kItems];
  Key neighbour[kItems];
  bool valid[kItems];
  bool has_next[kItems];
  bool has_neighbour[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    auto const i = static_cast<int32_t>(item * kSampleDrawThreads + threadIdx.x);
    int64_t const row = i < positions ? Rule::sample_row(i, column.rows) : 0;
    int64_t const beside = Rule::neighbour_row(row, column.rows, Rule::kNextRow);
    int64_t const apart = Rule::neighbour_row(row, column.rows, Rule::kNeighbourRows);
    keys[item] = i < positions ? column.keys[row] : 0;
    valid[item] = i < positions && column.is_valid(row);
    next[item] = valid[item] && beside >= 0 ? column.keys[beside] : 0;
    neighbour[item] = valid[item] && apart >= 0 ? column.keys[apart] : 0;
    has_next[item] = valid[item] && beside >= 0 && column.is_valid(beside);
    bool const is_behind = beside < row;
    bool const goes_down =
        is_behind ? is_before(keys[item], next[item]) : is_before(next[item], keys[item]);
    sums.descents += has_next[item] && goes_down ? 1 : 0;
    has_neighbour[item] = valid[item] && apart >= 0 && column.is_valid(apart);
  }
  if (blockIdx.x == 2) {
    static_assert(sizeof(table) >= sizeof(sample->filter));
    make_sample_filter<Rule>(keys, valid, reinterpret_cast<uint32_t*>(dynamic_shared),
                             sample->filter);
    return;
  }
  if (threadIdx.x == 0) hot_count = 0;
  to_next.start();
  to_neighbour.start();
  for (int i = threadIdx.x; i < Rule::kSlots; i += kSampleDrawThreads) table.slots[i] = -1;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int const i = item * kSampleDrawThreads + threadIdx.x;
    table.keys[i] = keys[item];
    table.draws[i] = 0;
    if (!valid[item]) continue;
    ++sums.valid;
    sums.bounds.add(keys[item]);
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    to_next.add(keys[item], next[item], has_next[item]);
    to_neighbour.add(keys[item], neighbour[item], has_neighbour[item]);
  }

  volatile int32_t* const slots = table.slots;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!valid[item]) continue;
    auto const i = static_cast<int32_t>(item * kSampleDrawThreads + threadIdx.x);
    uint32_t slot = Rule::sample_slot(keys[item]);
    while (true) {
      // Looked at before it is taken: draws of one key would else queue up to take its slot.
      int32_t holder = slots[slot];
      if (holder < 0) holder = atomicCAS(&table.slots[slot], -1, i);
      if (holder < 0) holder = i;
      if (table.keys[holder] == keys[item]) {
        atomicAdd(&table.draws[holder], 1U);
        break;
      }
      slot = (slot + 1) & static_cast<uint32_t>(Rule::kSlots - 1);
    }
  }
  block_sync();

  uint32_t const least_hot = Rule::hot_draws(build.rows);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int const i = item * kSampleDrawThreads + threadIdx.x;
    uint32_t const draws = table.draws[i];
    sums.distinct += draws != 0 ? 1 : 0;
    sums.most = max(sums.most, draws);
    sums.heavy += draws >= Rule::kHeavyDraws ? draws : 0;
    if (!draws_probe) {
      add_hot_key(keys[item], draws, least_hot, &hot_count, sample->hot);
      continue;
    }
    sample->table.keys[i] = keys[item];
    sample->table.draws[i] = draws;
    sample->rows[i] = 0;
    sample->tiles[i] = 0;
  }
  if (draws_probe) {
    for (int i = threadIdx.x; i < Rule::kSlots; i += kSampleDrawThreads) {
      sample->table.slots[i] = table.slots[i];
    }
  }
  sums = Reduce(storage).Reduce(sums, AddSums());
  if (threadIdx.x >= 32) return;
  int32_t const next_bits = to_next.usual_bits();
  int32_t const neighbour_bits = to_neighbour.usual_bits();
  if (threadIdx.x != 0) return;
  typename Rule::DrawnKeys drawn;
  drawn.positions = positions;
  drawn.valid = sums.valid;
  drawn.distinct = sums.distinct;
  drawn.most = sums.most;
  drawn.heavy = sums.heavy;
  drawn.next_bits = next_bits;
  drawn.descents = sums.descents;
  drawn.neighbour_bits = neighbour_bits;
  if (sums.bounds.has_key()) {
    drawn.bounds = {sums.bounds.any, sums.bounds.all, sums.bounds.low, sums.bounds.high};
  }
  (draws_probe ? sample->findings.probe : sample->findings.build) = drawn;
  if (!draws_probe) {
    // The block came to barriers in the sums since the last key was added.
    sample->hot.count = hot_count;
    sample->hot.blocks_done = 0;
    sample->findings.hot = {};
    return;
  }
  sample->bounds = {};
  sample->within = 0;
}

template <typename MetKeys>
struct MetSums {
  long long in_one_tile = 0;
  long long in_two_tiles = 0;
  MetKeys seldom;
  MetKeys often;

  __device__ static void add(MetKeys& met, const MetKeys& other) {
    met.keys += other.keys;
    met.draws += other.draws;
    met.rows += other.rows;
    met.drawn_rows += other.drawn_rows;
    met.squares += other.squares;
    met.drawn_squares += other.drawn_squares;
    met.most = max(met.most, other.most);
  }
  // As the operator that CUB asks for.
  __device__ MetSums operator()(MetSums sums, const MetSums& other) const {
    sums.in_one_tile += other.in_one_tile;
    sums.in_two_tiles += other.in_two_tiles;
    add(sums.seldom, other.seldom);
    add(sums.often, other.often);
    return sums;
  }
};

// All threads.
template <typename Rule, typename Key>
__device__ __forceinline__ void sum_met_keys(SampleBuffers<Rule, Key>* sample) {
  using MetKeys = typename Rule::MetKeys;
  using Sums = MetSums<MetKeys>;
  using Reduce = cub::BlockReduce<Sums, kSampleSumThreads>;
  __shared__ typename Reduce::TempStorage storage;
  constexpr int kItems = Rule::kPositions / kSampleSumThreads;
  static_assert(kItems * kSampleSumThreads == Rule::kPositions);
  uint32_t all_rows[kItems];
  uint32_t all_draws[kItems];
  uint32_t all_tiles[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int const i = item * kSampleSumThreads + threadIdx.x;
    all_rows[item] = sample->rows[i];
    all_draws[item] = sample->table.draws[i];
    all_tiles[item] = sample->tiles[i];
  }
  Sums sums;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int64_t const rows = all_rows[item];
    if (rows == 0) continue;
    int64_t const draws = all_draws[item];
    uint32_t const tiles = all_tiles[item];
    sums.in_one_tile += tiles == 1 ? 1 : 0;
    sums.in_two_tiles += tiles == 2 ? 1 : 0;
    MetKeys const met = {1, draws, rows, draws * rows, rows * rows, draws * rows * rows, rows};
    if (tiles <= 2) {
      Sums::add(sums.seldom, met);
    } else {
      Sums::add(sums.often, met);
    }
  }
  sums = Reduce(storage).Reduce(sums, Sums());
  if (threadIdx.x != 0) return;
  typename Rule::Findings& found = sample->findings;
  found.scanned = {sample->bounds.any, sample->bounds.all, sample->bounds.low, sample->bounds.high};
  found.scanned_within = static_cast<long long>(sample->within);
  found.met_in_one_tile = sums.in_one_tile;
  found.met_in_two_tiles = sums.in_two_tiles;
  found.met_seldom = sums.seldom;
  found.met_often = sums.often;
}

// counts: the build side was scanned.
template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleSumThreads)
    sum_sample_kernel(SampleBuffers<Rule, Key>* sample, bool counts,
                      HostAnswer<typename Rule::Findings>* answer) {
  using Findings = typename Rule::Findings;
  using Word = unsigned long long;
  constexpr uint32_t kWords = sizeof(Findings) / sizeof(Word);
  static_assert(sizeof(Findings) % sizeof(Word) == 0 && kWords <= kSampleSumThreads);
  await_last_kernel();
  if (counts) sum_met_keys(sample);
  __syncthreads();
  if (threadIdx.x < kWords) {
    reinterpret_cast<Word*>(&answer->content)[threadIdx.x] =
        reinterpret_cast<const Word*>(&sample->findings)[threadIdx.x];
  }
  __syncthreads();
  if (threadIdx.x == 0) give_answer(answer);
}

}  // namespace gpujoin::kernels
