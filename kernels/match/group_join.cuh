// group_join.cuh: rows of partitions with equal keys, counted and summed up where they meet
//
// Source   group-join: Moerkotte & Neumann, "Accelerating Queries with Group-By and Join by
//          Groupjoin", VLDB 2011; here of partitions: what is added to is in shared memory
// In       mixed keys of both sides, contiguous partitions; columns in the order of the keys. Groups
//          are rows of the build side, or all rows are one
// Out      One group: counts and sums, added to totals in device memory.
//          A group a build row: of those with a match, in any order, their output columns, count
//          and sums; groups, how many there are
// Needs    unit_ends, the inclusive sums of SetUnits, or of one unit a partition where there are
//          groups; counters->taken 0; totals and *groups at what is added to
// Launch   as many blocks of kGroupJoinThreads as are resident, dependent
// Moves    the keys and summed columns of both sides once, the build side's for each unit; of each
//          group what is put out of it, read and written
// Shared   a table of a chunk of the build side, a count and sums of each of its keys: an atomic a
//          probe row for each, or of one group a read
//
// Equal keys of a chunk have one slot. Of one group a slot has the build rows, which weigh what a
// probe row adds; else it has the probe rows, which each build row of the key puts out.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/aggregate/addend.cuh"
#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/match_by_rank.cuh"
#include "kernels/match/match_sets.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

constexpr int kGroupJoinThreads = 512;
constexpr int kGroupJoinBlocksPerSm = 2;
constexpr int kGroupJoinItems = 4;  // probe rows of a thread at a time

// A column of integers of 4 bytes or fewer: 2^32 of them times 2^32 rows fit two words, and 2^32 of
// them one.
struct SummedColumn {
  const void* values;
  int32_t width;
  bool is_signed;

  __device__ __forceinline__ int64_t at(uint64_t row) const {
    switch (width) {
      case 1:
        return is_signed ? int64_t{static_cast<const int8_t*>(values)[row]}
                         : int64_t{static_cast<const uint8_t*>(values)[row]};
      case 2:
        return is_signed ? int64_t{static_cast<const int16_t*>(values)[row]}
                         : int64_t{static_cast<const uint16_t*>(values)[row]};
      default:
        return is_signed ? int64_t{static_cast<const int32_t*>(values)[row]}
                         : int64_t{static_cast<const uint32_t*>(values)[row]};
    }
  }
};

template <typename KeyType>
struct GroupJoin : CarriedJoin<KeyType> {
  int32_t build_sum_count;
  int32_t probe_sum_count;
  SummedColumn build_sums[kMostGroupSums];
  SummedColumn probe_sums[kMostGroupSums];
  // Of one group, a word and two words each, as StateKind::kRows and kSum have them; else a word a
  // group. counts null: nobody asks.
  uint64_t* counts;
  uint64_t* build_totals[kMostGroupSums];
  uint64_t* probe_totals[kMostGroupSums];
  unsigned long long* groups;
};

// Units of partitions whose groups one block has.
struct WholePartitions {
  __device__ unsigned long long operator()(uint32_t, uint32_t, uint32_t) const { return 1; }
};

// Slots of a chunk's keys by the rank of a bit.
struct RankedSlots {
  using Key = uint32_t;
  CarriedRanks ranks;
  bool repeats;

  // All threads; whether a key repeats.
  __device__ bool build(const CarriedJoin<Key>& join, const CarriedUnit& chunk) {
    LoadedKeys<kGroupJoinThreads, Key> const keys{join, chunk};
    auto* const vectors = reinterpret_cast<uint4*>(ranks.bits);
    for (uint32_t i = threadIdx.x; i < kCarriedRankWords / 4; i += kGroupJoinThreads) {
      vectors[i] = {0, 0, 0, 0};
    }
    if (threadIdx.x == 0) repeats = false;
    block_sync();
    bool own_repeats = false;
    keys.each([&](int, uint32_t, Key key) {
      uint32_t const rest = key >> join.radix_bits;
      uint32_t const bit = 1U << rest % 32;
      own_repeats = own_repeats || (atomicOr(&ranks.bits[rest / 32], bit) & bit) != 0;
    });
    if (own_repeats) repeats = true;
    block_sync();
    sum_bits<kGroupJoinThreads>(ranks);
    block_sync();
    return repeats;
  }
  __device__ __forceinline__ bool find(const CarriedJoin<Key>& join, Key key,
                                       uint32_t* slot) const {
    return ranks.find(key >> join.radix_bits, slot);
  }
};

// By the first place among the chunk's rows that has the key.
template <typename KeyType>
struct GroupedSlots {
  using Key = KeyType;
  CarriedGroups<Key> groups;

  // All threads; whether a key repeats, as far as is known.
  __device__ bool build(const CarriedJoin<Key>& join, const CarriedUnit& chunk) {
    build_groups<kGroupJoinThreads>(join, chunk, groups);
    return true;
  }
  __device__ __forceinline__ bool find(const CarriedJoin<Key>& join, Key key,
                                       uint32_t* slot) const {
    uint32_t const bucket = carried_bucket(key, join.radix_bits);
    uint32_t const end = groups.start_of(bucket + 1);
#pragma unroll 1
    for (uint32_t at = groups.start_of(bucket); at < end; ++at) {
      if (groups.keys[at] != key) continue;
      *slot = at;
      return true;
    }
    return false;
  }
};

// Sums of slots, two words of 4 bytes each: shared memory adds 4 bytes at once.
struct SlotSums {
  uint32_t* low;
  uint32_t* high;

  __device__ SlotSums(uint32_t* sums, int32_t number)
      : low(sums + uint32_t{2} * number * kCarriedBuildRows), high(low + kCarriedBuildRows) {}
  __device__ __forceinline__ void add(uint32_t slot, int64_t value) const {
    auto const low_part = static_cast<uint32_t>(value);
    uint32_t const before = atomicAdd(&low[slot], low_part);
    uint32_t const carry = before + low_part < before ? 1 : 0;
    uint32_t const high_part = static_cast<uint32_t>(value >> 32) + carry;
    if (high_part != 0) atomicAdd(&high[slot], high_part);
  }
  __device__ __forceinline__ int64_t at(uint32_t slot) const {
    return static_cast<int64_t>(uint64_t{high[slot]} << 32 | low[slot]);
  }
};

// Sums of a block's shared memory: of the build side for one group, else of the probe side.
template <typename Key>
__host__ __device__ constexpr uint32_t slot_sum_bytes(int32_t sums) {
  return 2 * sizeof(uint32_t) * kCarriedBuildRows * static_cast<uint32_t>(sums);
}

template <typename Slots>
struct alignas(16) GroupJoinBlock {
  CarriedUnit unit;
  unsigned long long base;  // of the groups of a chunk
  uint32_t of_warps[kGroupJoinThreads / 32];
  uint32_t counts[kCarriedBuildRows];
  Slots slots;
};

__device__ __forceinline__ Addend<2> two_words(int64_t value) {
  return {{static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 63)}};
}

template <typename Slots, bool kGroups>
struct GroupJoining {
  using Key = typename Slots::Key;
  using Join = GroupJoin<Key>;
  using Block = GroupJoinBlock<Slots>;
  static constexpr uint32_t kUnitRows = kGroups ? 0xffffffffU : kCarriedProbeRows;
  static constexpr uint32_t kSpan = (kCarriedBuildRows / (kGroupJoinThreads / 32) + 31) / 32 * 32;

  const Join& join;
  Block& block;
  uint32_t* sums;
  uint64_t rows = 0;  // of one group, this thread's
  Addend<2> build_totals[kMostGroupSums] = {};
  Addend<2> probe_totals[kMostGroupSums] = {};

  __device__ GroupJoining(const Join& of, Block& in, uint32_t* with)
      : join(of), block(in), sums(with) {}

  // All threads.
  __device__ void join_unit() {
    CarriedUnit chunk = block.unit;
    if (chunk.probe_rows == 0) return;
    uint32_t left = chunk.build_rows;
    for (bool is_first = true; left != 0; is_first = false) {
      chunk.build_rows = min(left, uint32_t{kCarriedBuildRows});
      if (!is_first) block_sync();
      join_chunk(chunk);
      chunk.build_first += chunk.build_rows;
      left -= chunk.build_rows;
    }
  }

  // All lanes of all warps.
  __device__ void add_totals() {
    add_total(join.counts, Addend<1>{{rows}});
#pragma unroll
    for (int i = 0; i < kMostGroupSums; ++i) {
      if (i < join.build_sum_count) add_total(join.build_totals[i], build_totals[i]);
      if (i < join.probe_sum_count) add_total(join.probe_totals[i], probe_totals[i]);
    }
  }

 private:
  template <int kWords>
  __device__ static void add_total(uint64_t* total, Addend<kWords> own) {
    if (total == nullptr) return;
    for (int lanes = 16; lanes != 0; lanes /= 2) add_to(own, shuffled_down(own, lanes));
    if (threadIdx.x % 32 == 0) add_words(total, own);
  }

  __device__ void join_chunk(const CarriedUnit& chunk) {
    int32_t const sum_count = kGroups ? join.probe_sum_count : join.build_sum_count;
    for (uint32_t i = threadIdx.x; i < chunk.build_rows; i += kGroupJoinThreads) {
      block.counts[i] = 0;
      for (int32_t sum = 0; sum < sum_count; ++sum) {
        SlotSums const of(sums, sum);
        of.low[i] = of.high[i] = 0;
      }
    }
    bool const repeats = block.slots.build(join, chunk);
    if constexpr (kGroups) {
      look_up(chunk, true);
      block_sync();
      put_out(chunk);
    } else {
      bool const has_weights = repeats || sum_count != 0;
      if (has_weights) weigh(chunk);
      look_up(chunk, has_weights);
    }
  }

  // What the build rows of each slot add.
  __device__ void weigh(const CarriedUnit& chunk) {
    LoadedKeys<kGroupJoinThreads, Key>{join, chunk}.each([&](int, uint32_t row, Key key) {
      uint32_t slot = 0;
      block.slots.find(join, key, &slot);
      atomicAdd(&block.counts[slot], 1U);
      for (int32_t sum = 0; sum < join.build_sum_count; ++sum) {
        SlotSums(sums, sum).add(slot, join.build_sums[sum].at(uint64_t{chunk.build_first} + row));
      }
    });
    block_sync();
  }

  __device__ void look_up(const CarriedUnit& chunk, bool has_counts) {
    bool const loads_early = join.most_match && join.probe_sum_count != 0;
    for (uint32_t first = threadIdx.x; first < chunk.probe_rows;
         first += kGroupJoinThreads * kGroupJoinItems) {
      Key keys[kGroupJoinItems];
      int64_t early[kGroupJoinItems];
#pragma unroll
      for (int item = 0; item < kGroupJoinItems; ++item) {
        uint32_t const row = first + item * kGroupJoinThreads;
        if (row < chunk.probe_rows) keys[item] = join.probe_keys[chunk.probe_first + row];
      }
      if (loads_early) {
#pragma unroll
        for (int item = 0; item < kGroupJoinItems; ++item) {
          uint32_t const row = first + item * kGroupJoinThreads;
          if (row < chunk.probe_rows) {
            early[item] = join.probe_sums[0].at(uint64_t{chunk.probe_first} + row);
          }
        }
      }
#pragma unroll
      for (int item = 0; item < kGroupJoinItems; ++item) {
        uint32_t const row = first + item * kGroupJoinThreads;
        uint32_t slot = 0;
        if (row >= chunk.probe_rows || !block.slots.find(join, keys[item], &slot)) continue;
        add_row(uint64_t{chunk.probe_first} + row, slot, has_counts, loads_early, early[item]);
      }
    }
  }

  __device__ __forceinline__ void add_row(uint64_t row, uint32_t slot, bool has_counts,
                                          bool has_first, int64_t first_value) {
    auto const value_of = [&](int sum) {
      return sum == 0 && has_first ? first_value : join.probe_sums[sum].at(row);
    };
    if constexpr (kGroups) {
      atomicAdd(&block.counts[slot], 1U);
      for (int32_t sum = 0; sum < join.probe_sum_count; ++sum) {
        SlotSums(sums, sum).add(slot, value_of(sum));
      }
    } else {
      int64_t const weight = has_counts ? int64_t{block.counts[slot]} : 1;
      rows += static_cast<uint64_t>(weight);
#pragma unroll
      for (int sum = 0; sum < kMostGroupSums; ++sum) {
        if (sum < join.probe_sum_count) {
          add_to(probe_totals[sum], two_words(value_of(sum) * weight));
        }
        if (sum < join.build_sum_count) {
          add_to(build_totals[sum], two_words(SlotSums(sums, sum).at(slot)));
        }
      }
    }
  }

  // A warp has kSpan rows of the chunk, one after the other, so that lanes write neighbours.
  __device__ void put_out(const CarriedUnit& chunk) {
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const warp = threadIdx.x / 32;
    uint32_t const begin = warp * kSpan;
    uint32_t const end = min(begin + kSpan, chunk.build_rows);
    uint32_t found = 0;
    for (uint32_t first = begin; first < end; first += 32) {
      uint32_t slot = 0;
      found += __popc(__ballot_sync(0xffffffffU, is_there(chunk, first + lane, &slot)));
    }
    if (lane == 0) block.of_warps[warp] = found;
    block_sync();
    if (threadIdx.x == 0) {
      uint32_t all = 0;
      for (uint32_t& of_warp : block.of_warps) {
        uint32_t const before = all;
        all += of_warp;
        of_warp = before;
      }
      block.base = atomicAdd(join.groups, static_cast<unsigned long long>(all));
    }
    block_sync();
    uint64_t place = block.base + block.of_warps[warp];
    for (uint32_t first = begin; first < end; first += 32) {
      uint32_t slot = 0;
      bool const has_group = is_there(chunk, first + lane, &slot);
      uint32_t const lanes = __ballot_sync(0xffffffffU, has_group);
      uint64_t const at = place + __popc(lanes & ((1U << lane) - 1));
      if (has_group) write_group(uint64_t{chunk.build_first} + first + lane, slot, at);
      place += __popc(lanes);
    }
  }

  __device__ __forceinline__ bool is_there(const CarriedUnit& chunk, uint32_t row,
                                           uint32_t* slot) const {
    if (row >= chunk.build_rows) return false;
    block.slots.find(join, join.build_keys[uint64_t{chunk.build_first} + row], slot);
    return block.counts[*slot] != 0;
  }

  __device__ __forceinline__ void write_group(uint64_t row, uint32_t slot, uint64_t at) const {
    uint32_t const count = block.counts[slot];
    if (join.counts != nullptr) join.counts[at] = count;
    for (int32_t sum = 0; sum < join.probe_sum_count; ++sum) {
      join.probe_totals[sum][at] = static_cast<uint64_t>(SlotSums(sums, sum).at(slot));
    }
    for (int32_t sum = 0; sum < join.build_sum_count; ++sum) {
      join.build_totals[sum][at] = static_cast<uint64_t>(join.build_sums[sum].at(row) * count);
    }
    for (int32_t i = 0; i < join.column_count; ++i) {
      CarriedColumn const& column = join.columns[i];
      if (column.from == CarriedFrom::kKey) {
        static_cast<Key*>(column.target)[at] = unmix_key(join.build_keys[row]);
        continue;
      }
      with_value_type(column.width, [&](auto zero) {
        using Value = decltype(zero);
        static_cast<Value*>(column.target)[at] = static_cast<const Value*>(column.source)[row];
      });
    }
  }
};

template <typename Slots, bool kGroups>
__global__ void __launch_bounds__(kGroupJoinThreads, kGroupJoinBlocksPerSm)
    group_join_kernel(const __grid_constant__ GroupJoin<typename Slots::Key> join) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  using Joining = GroupJoining<Slots, kGroups>;
  auto& block = *reinterpret_cast<typename Joining::Block*>(dynamic_shared);
  Joining joining(join, block, reinterpret_cast<uint32_t*>(&block + 1));
  await_last_kernel();
  unsigned long long const units = join.unit_ends[join.partitions - 1];
  // The first warp takes units, the others read which one it is.
  for (unsigned long long number = blockIdx.x;;) {
    if (threadIdx.x < 32 && number < units) {
      find_carried_unit<Joining::kUnitRows, true, true>(join, Joining::kUnitRows, number,
                                                        block.unit);
    }
    if (threadIdx.x == 0) block.unit.number = number;
    block_sync();
    if (block.unit.number >= units) break;
    joining.join_unit();
    block_sync();
    if (threadIdx.x < 32) number = take_unit(join);
  }
  if constexpr (!kGroups) joining.add_totals();
}

}  // namespace gpujoin::kernels
