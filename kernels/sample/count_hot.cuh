// count_hot.cuh: the probe rows that have the hot keys of the build side
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key of the probe side, with validity bits; hot keys and table of sample_keys.cuh, rows of count_sample.cuh
// Out      findings.hot; rows of sampled keys that are hot are 0 then
// Needs    Rule: kMostHotKeys, sample_filter_bits(key), ... of src/plan/sample_rule.hpp
// Launch   a grid that fills the device, kSampleHotThreads each, count_hot_shared<Rule>() dynamic shared, dependent
// Moves    |Key| a probe row, + a bit of validity of those that pass the filter; nothing where no key is hot
// Shared   a filter, a table of the keys, an atomic add a row that has one: each such row is thousands of output rows
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/sample/sample_keys.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Rule>
constexpr uint32_t count_hot_shared() {
  return Rule::kFilterWords * sizeof(uint32_t);
}

template <typename Key>
constexpr int kHotItems = kSampleItemBytes / sizeof(Key);
// Probe rows that a block takes at a time.
template <typename Key>
constexpr uint32_t kHotTile = kSampleHotThreads* kHotItems<Key>;

constexpr uint32_t kNoHotKey = 0xffffffffU;

template <typename Rule, typename Key>
struct SharedHotKeys {
  Key keys[Rule::kMostHotKeys];
  uint32_t rows[Rule::kMostHotKeys];
  uint32_t slots[Rule::kHotSlots];  // numbers of keys, or kNoHotKey

  __device__ static uint32_t slot_of(Key key) {
    return Rule::sample_slot(key) & (Rule::kHotSlots - 1);
  }
  __device__ void insert(Key key, uint32_t number) {
    keys[number] = key;
    rows[number] = 0;
    uint32_t slot = slot_of(key);
    while (atomicCAS(&slots[slot], kNoHotKey, number) != kNoHotKey) {
      slot = (slot + 1) & (Rule::kHotSlots - 1);
    }
  }
  __device__ uint32_t find(Key key) const {
    uint32_t slot = slot_of(key);
    while (slots[slot] != kNoHotKey && keys[slots[slot]] != key) {
      slot = (slot + 1) & (Rule::kHotSlots - 1);
    }
    return slots[slot];
  }
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

template <typename HotKeys>
struct AddHotKeys {
  __device__ HotKeys operator()(HotKeys sums, const HotKeys& other) const {
    sums.keys += other.keys;
    sums.probe_draws += other.probe_draws;
    sums.probe_keys += other.probe_keys;
    sums.rows += other.rows;
    sums.most = max(sums.most, other.most);
    sums.met_rows += other.met_rows;
    sums.drawn_rows += other.drawn_rows;
    sums.most_met = max(sums.most_met, other.most_met);
    sums.most_drawn = max(sums.most_drawn, other.most_drawn);
    return sums;
  }
};

// The keys' rows in the tiles of this block.
template <typename Rule, typename Key>
__device__ __forceinline__ void count_hot_rows_of_block(const SampledColumn<Key>& column,
                                                        const uint32_t* filter,
                                                        SharedHotKeys<Rule, Key>& hot) {
  constexpr int kItems = kHotItems<Key>;
  constexpr int64_t kTile = kHotTile<Key>;
#pragma unroll 1
  for (int64_t tile = blockIdx.x * kTile; tile < column.rows; tile += gridDim.x * kTile) {
    int64_t const first = tile + threadIdx.x;
    Key keys[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      int64_t const row = first + item * kSampleHotThreads;
      if (row < column.rows) keys[item] = column.keys[row];
    }
    uint32_t passed = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (first + item * kSampleHotThreads >= column.rows) continue;
      auto const bits = Rule::sample_filter_bits(keys[item]);
      passed |= static_cast<uint32_t>(bits.held_by(filter[bits.word])) << item;
    }
    while (passed != 0) {
      int const item = __ffs(static_cast<int>(passed)) - 1;
      passed &= passed - 1;
      Key key = keys[0];
#pragma unroll
      for (int other = 1; other < kItems; ++other) key = item == other ? keys[other] : key;
      uint32_t const number = hot.find(key);
      if (number == kNoHotKey || !column.is_valid(first + item * kSampleHotThreads)) continue;
      atomicAdd(&hot.rows[number], 1U);
    }
  }
}

// scanned: so was the build side.
template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleHotThreads, kSampleHotBlocksPerSm)
    count_hot_kernel(SampledColumn<Key> column, bool scanned,
                     SampleBuffers<Rule, Key>* __restrict__ sample) {
  static_assert(Rule::kMostHotKeys <= kSampleHotThreads);
  static_assert(Rule::kFilterWords % (4 * kSampleHotThreads) == 0);
  using HotKeys = typename Rule::HotKeys;
  using Reduce = cub::BlockReduce<HotKeys, kSampleHotThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ SharedHotKeys<Rule, Key> hot;
  __shared__ bool is_last;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const filter = reinterpret_cast<uint32_t*>(dynamic_shared);

  let_next_kernel_start();
  await_last_kernel();
  HotKeyTable<Rule, Key>& found = sample->hot;
  uint32_t const count = found.count;
  if (count == 0) return;
  bool const has_key = threadIdx.x < count;
  auto* const vectors = reinterpret_cast<uint4*>(dynamic_shared);
  for (int i = threadIdx.x; i < Rule::kFilterWords / 4; i += kSampleHotThreads) vectors[i] = {};
  for (uint32_t i = threadIdx.x; i < Rule::kHotSlots; i += kSampleHotThreads) {
    hot.slots[i] = kNoHotKey;
  }
  __syncthreads();
  if (has_key) {
    Key const key = found.keys[threadIdx.x];
    auto const bits = Rule::sample_filter_bits(key);
    atomicOr(&filter[bits.word], bits.mask());
    hot.insert(key, threadIdx.x);
  }
  block_sync();
  count_hot_rows_of_block<Rule>(column, filter, hot);
  block_sync();

  if (has_key && hot.rows[threadIdx.x] != 0) {
    atomicAdd(&found.rows[threadIdx.x], hot.rows[threadIdx.x]);
  }
  __threadfence();  // the last block sees what all added
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&found.blocks_done, 1U) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  HotKeys sums;
  if (has_key) {
    // Past the first-level cache, which may hold what was there before.
    int64_t const rows = __ldcg(&found.rows[threadIdx.x]);
    int32_t const position = drawn_position(sample->table, found.keys[threadIdx.x]);
    sums.keys = 1;
    sums.probe_draws = position >= 0 ? sample->table.draws[position] : 0;
    sums.probe_keys = position >= 0 ? 1 : 0;
    sums.rows = sums.most = rows;
    sums.most_met = scanned && position >= 0 ? sample->rows[position] : 0;
    sums.met_rows = sums.most_met * rows;
    if (sums.most_met == 0) {
      sums.drawn_rows = rows * found.draws[threadIdx.x];
      sums.most_drawn = rows;
    } else {
      sample->rows[position] = 0;  // for the sums over the other keys
    }
  }
  sums = Reduce(storage).Reduce(sums, AddHotKeys<HotKeys>());
  if (threadIdx.x == 0) sample->findings.hot = sums;
}

}  // namespace gpujoin::kernels
