// count_hot.cuh: the rows of both sides that have the hot keys of the build side
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key of both sides, with validity bits; hot keys and table of draw_sample.cuh,
//          rows of count_sample.cuh
// Out      findings.hot; rows of sampled keys that are hot are 0 then
// Needs    Rule: kMostHotKeys, sample_filter_bits(key), ... of src/plan/sample_rule.hpp
// Launch   a grid that fills the device, kSampleHotThreads each, count_hot_shared<Rule>() dynamic
//          shared, dependent
// Moves    |Key| a row of either side, + a bit of validity of those that pass the filter; nothing
//          where no key is hot
// Shared   a filter, a table of the keys, an atomic add a run of a thread's rows that have the same
//          one
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/sample/sample_buffers.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Rule>
constexpr uint32_t count_hot_shared() {
  return Rule::kFilterWords * sizeof(uint32_t);
}

template <typename Key>
constexpr int kHotItems = kSampleItemBytes / sizeof(Key);
// Rows that a block takes at a time.
template <typename Key>
constexpr uint32_t kHotTile = kSampleHotThreads* kHotItems<Key>;

constexpr uint32_t kNoHotKey = 0xffffffffU;

template <typename Rule, typename Key>
struct SharedHotKeys {
  Key keys[Rule::kMostHotKeys];
  uint32_t rows[Rule::kMostHotKeys];
  uint32_t slots[Rule::kHotSlots];  // numbers of keys, or kNoHotKey

  __device__ static uint32_t slot_of(Key key) {
    return Rule::sample_hash(key) & (Rule::kHotSlots - 1);
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

template <typename HotKeys>
struct AddHotKeys {
  __device__ HotKeys operator()(HotKeys sums, const HotKeys& other) const {
    sums.keys += other.keys;
    sums.probe_draws += other.probe_draws;
    sums.probe_keys += other.probe_keys;
    sums.rows += other.rows;
    sums.most = max(sums.most, other.most);
    sums.pairs += other.pairs;
    sums.most_build = max(sums.most_build, other.most_build);
    return sums;
  }
};

// Which of a thread's keys pass the filter, as bits. rows: of the tile, from the thread's first on.
template <typename Rule, bool kWhole, int kItems, typename Key>
__device__ __forceinline__ uint32_t hot_candidates(const Key* first, uint32_t rows,
                                                   const uint32_t* filter, Key (&keys)[kItems]) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    bool const is_row = kWhole || item * kSampleHotThreads < rows;
    keys[item] = is_row ? first[item * kSampleHotThreads] : 0;
  }
  uint32_t passed = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!kWhole && item * kSampleHotThreads >= rows) continue;
    auto const bits = Rule::sample_filter_bits(keys[item]);
    passed += static_cast<uint32_t>(bits.held_by(filter[bits.word])) << item;
  }
  return passed;
}

// The keys' rows in the tiles of this block.
template <typename Rule, typename Key>
__device__ __forceinline__ void count_hot_rows_of_block(const SampledColumn<Key>& column,
                                                        const uint32_t* filter,
                                                        SharedHotKeys<Rule, Key>& hot) {
  constexpr int kItems = kHotItems<Key>;
  constexpr int64_t kTile = kHotTile<Key>;
  // The key that the thread met last, and its rows since: half a side may be one key's, and a
  // counter takes one add at a time.
  Key last_key = 0;
  uint32_t last = kNoHotKey;
  uint32_t run = 0;
#pragma unroll 1
  for (int64_t tile = blockIdx.x * kTile; tile < column.rows; tile += gridDim.x * kTile) {
    int64_t const first = tile + threadIdx.x;
    int64_t const rows = column.rows - tile;
    Key keys[kItems];
    uint32_t passed = 0;
    if (rows >= kTile) {
      passed = hot_candidates<Rule, true>(column.keys + first, kTile, filter, keys);
    } else if (threadIdx.x < rows) {
      passed = hot_candidates<Rule, false>(column.keys + first,
                                           static_cast<uint32_t>(rows) - threadIdx.x, filter, keys);
    }
    if (passed != 0 && last != kNoHotKey && column.validity == nullptr) {
      uint32_t again = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        again += static_cast<uint32_t>(keys[item] == last_key) << item;
      }
      again &= passed;  // those that are rows
      run += __popc(again);
      passed -= again;
    }
    while (passed != 0) {
      int const item = __ffs(static_cast<int>(passed)) - 1;
      passed &= passed - 1;
      Key const key = key_of_item(keys, item);
      bool const is_again = last != kNoHotKey && key == last_key;
      uint32_t const number = is_again ? last : hot.find(key);
      if (number == kNoHotKey || !column.is_valid(first + item * kSampleHotThreads)) continue;
      if (!is_again) {
        if (run != 0) atomicAdd(&hot.rows[last], run);
        last_key = key;
        last = number;
        run = 0;
      }
      ++run;
    }
    __syncwarp();  // lanes that found a key would go on by themselves, three times the instructions
  }
  if (run != 0) atomicAdd(&hot.rows[last], run);
}

// Adds a side's rows to those of each key, and counts from 0 again. All threads.
template <typename Rule, typename Key>
__device__ __forceinline__ void count_hot_side(const SampledColumn<Key>& column,
                                               const uint32_t* filter, uint32_t count,
                                               SharedHotKeys<Rule, Key>& hot, uint32_t* rows) {
  count_hot_rows_of_block<Rule>(column, filter, hot);
  block_sync();
  for (uint32_t i = threadIdx.x; i < count; i += kSampleHotThreads) {
    if (hot.rows[i] != 0) atomicAdd(&rows[i], hot.rows[i]);
    hot.rows[i] = 0;
  }
  block_sync();
}

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleHotThreads, kSampleHotBlocksPerSm)
    count_hot_kernel(SampledColumn<Key> build, SampledColumn<Key> probe,
                     SampleBuffers<Rule, Key>* __restrict__ sample) {
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
  uint32_t const count = found.count();
  if (count == 0) return;
  auto* const vectors = reinterpret_cast<uint4*>(dynamic_shared);
  for (int i = threadIdx.x; i < Rule::kFilterWords / 4; i += kSampleHotThreads) vectors[i] = {};
  for (uint32_t i = threadIdx.x; i < Rule::kHotSlots; i += kSampleHotThreads) {
    hot.slots[i] = kNoHotKey;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kSampleHotThreads) {
    Key const key = found.key(i);
    auto const bits = Rule::sample_filter_bits(key);
    atomicOr(&filter[bits.word], bits.mask());
    hot.insert(key, i);
  }
  block_sync();
  count_hot_side(build, filter, count, hot, found.build_rows);
  count_hot_side(probe, filter, count, hot, found.probe_rows);

  __threadfence();  // the last block sees what all added
  block_sync();
  if (threadIdx.x == 0) is_last = atomicAdd(&found.blocks_done, 1U) == gridDim.x - 1;
  block_sync();
  if (!is_last) return;
  __threadfence();
  HotKeys sums;
  for (uint32_t i = threadIdx.x; i < count; i += kSampleHotThreads) {
    // Past the first-level cache, which may hold what was there before.
    int64_t const build_rows = __ldcg(&found.build_rows[i]);
    int64_t const probe_rows = __ldcg(&found.probe_rows[i]);
    int32_t const position = drawn_position(sample->table, found.key(i));
    HotKeys key;
    key.keys = 1;
    if (position >= 0) {
      key.probe_draws = sample->table.draws[position];
      key.probe_keys = 1;
      sample->rows[position] = 0;  // for the sums over the other keys
    }
    key.rows = key.most = probe_rows;
    key.pairs = Rule::hot_pairs(build_rows, probe_rows);
    key.most_build = build_rows;
    sums = AddHotKeys<HotKeys>()(sums, key);
  }
  sums = Reduce(storage).Reduce(sums, AddHotKeys<HotKeys>());
  if (threadIdx.x == 0) sample->findings.hot = sums;
}

}  // namespace gpujoin::kernels
