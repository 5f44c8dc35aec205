// group_join.cuh: rows of partitions with equal keys, counted and summed up where they meet
//
// Source   group-join: Moerkotte & Neumann, "Accelerating Queries with Group-By and Join by
//          Groupjoin", VLDB 2011; here of partitions: what is added to is in shared memory
// In       mixed keys of both sides, contiguous partitions; columns in the order of the keys.
//          Groups are rows of the build side
// Out      of build rows with a match, in any order, their output columns, count and sums; groups,
//          how many there are
// Needs    unit_ends, of one unit a partition; counters->taken and *groups 0
// Launch   as many blocks of kGroupJoinThreads as are resident, dependent
// Moves    the keys and summed columns of both sides, the probe side's for each chunk of its
//          partition; of each group what is put out of it, read and written
// Shared   a table of a chunk of the build side, a count and sums of each of its keys: an atomic a
//          probe row for each, a look at them for each build row
//
// Equal keys of a chunk have one slot, with what their probe rows add, which each build row of the
// key puts out. For all rows as one group the same, with the build rows in the slots, took as long
// as columns that are written and read again.
//
// Instructions take as long as shared memory does, so that what most joins sum up is told apart
// when the kernel is compiled.
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/group_slots.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/value_type.cuh"
#include "kernels/warp_take.cuh"

namespace gpujoin::kernels {

constexpr int kGroupJoinBlocksPerSm = 2;
constexpr int kGroupJoinItems = 4;  // probe rows of a lane at a time

// A column of integers of 4 bytes or fewer: 2^32 of them fit a word.
struct SummedColumn {
  const void* values;
  int32_t width;
  bool is_signed;

  // Of 4 bytes, extended by its sign where it has one.
  __device__ __forceinline__ uint32_t load(uint64_t row) const {
    switch (width) {
      case 1: {
        auto const value = static_cast<const uint8_t*>(values)[row];
        return is_signed ? static_cast<uint32_t>(int32_t{static_cast<int8_t>(value)}) : value;
      }
      case 2: {
        auto const value = static_cast<const uint16_t*>(values)[row];
        return is_signed ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(value)}) : value;
      }
      default:
        return static_cast<const uint32_t*>(values)[row];
    }
  }
  __device__ __forceinline__ int64_t widen(uint32_t loaded) const {
    return is_signed ? int64_t{static_cast<int32_t>(loaded)} : int64_t{loaded};
  }
};

// What is summed up of the probe side: nothing, one column of 4 bytes, or as many as there are.
enum class ProbeSums { kNone, kOneWord, kAny };

template <typename KeyType>
struct GroupJoin : CarriedJoin<KeyType> {
  int32_t build_sum_count;
  int32_t probe_sum_count;
  SummedColumn build_sums[kMostGroupSums];
  SummedColumn probe_sums[kMostGroupSums];
  // A word a group. counts null: nobody asks.
  uint64_t* counts;
  uint64_t* build_totals[kMostGroupSums];
  uint64_t* probe_totals[kMostGroupSums];
  unsigned long long* groups;
};

// Units of partitions whose groups one block has.
struct WholePartitions {
  __device__ unsigned long long operator()(uint32_t, uint32_t, uint32_t) const { return 1; }
};

// Words of each slot: its count and sums of the probe side.
constexpr uint32_t slot_words(int32_t sums) { return kGroupSlots * (1 + 2 * sums); }

template <typename Slots>
struct alignas(16) GroupJoinBlock {
  CarriedUnit units[2];     // this one, and the next
  unsigned long long base;  // of the groups of a chunk
  uint32_t groups;          // of the chunk, that warps have a place for
  uint32_t batch;           // of the chunk's probe rows, that warps have taken
  Slots slots;
};

template <typename Slots, ProbeSums kSums>
struct GroupJoining {
  using Key = typename Slots::Key;
  using Keys = typename Slots::Keys;
  using Join = GroupJoin<Key>;
  using Block = GroupJoinBlock<Slots>;
  static constexpr uint32_t kUnitRows = 0xffffffffU;
  static constexpr uint32_t kWarps = kGroupJoinThreads / 32;
  static constexpr uint32_t kBatchRows = 32 * kGroupJoinItems;

  const Join& join;
  Block& block;
  uint32_t* counts;  // of slots, and sums behind them

  __device__ GroupJoining(const Join& of, Block& in, uint32_t* with)
      : join(of), block(in), counts(with) {}

  // The first warp: what the block joins next, on its way to L2.
  __device__ void find_unit(unsigned long long number, unsigned long long units,
                            CarriedUnit& unit) {
    if (number < units) find_carried_unit<kUnitRows, true, true>(join, kUnitRows, number, unit);
    if (threadIdx.x != 0) return;
    unit.number = number;
    if (number >= units) return;
    uint32_t const build_rows = min(unit.build_rows, uint32_t{kCarriedBuildRows});
    uint32_t const probe_rows = min(unit.probe_rows, kCarriedProbeRows);
    fetch(join.build_keys, sizeof(Key), unit.build_first, build_rows);
    fetch(join.probe_keys, sizeof(Key), unit.probe_first, probe_rows);
    for (int32_t i = 0; i < join.build_sum_count; ++i) {
      fetch(join.build_sums[i].values, join.build_sums[i].width, unit.build_first, build_rows);
    }
    for (int32_t i = 0; i < join.probe_sum_count; ++i) {
      fetch(join.probe_sums[i].values, join.probe_sums[i].width, unit.probe_first, probe_rows);
    }
  }

  // All threads. next(): called once, by the first warp, while others look up.
  template <typename Next>
  __device__ void join_unit(const CarriedUnit& unit, Next next) {
    CarriedUnit chunk = unit;
    uint32_t left = chunk.probe_rows == 0 ? 0 : chunk.build_rows;
    bool is_first = true;
    for (; left != 0; is_first = false) {
      chunk.build_rows = min(left, uint32_t{kCarriedBuildRows});
      if (!is_first) block_sync();
      join_chunk(chunk, [&] {
        if (is_first) next();
      });
      chunk.build_first += chunk.build_rows;
      left -= chunk.build_rows;
    }
    if (is_first && threadIdx.x < 32) next();
  }

 private:
  // A lane's probe rows of a batch, asked for long before they are wanted.
  struct Batch {
    Key keys[kGroupJoinItems];
    uint32_t values[kGroupJoinItems];  // of the first sum
  };

  __device__ static void fetch(const void* values, int32_t width, uint32_t first, uint32_t rows) {
    fetch_to_l2(CarriedColumn{values, nullptr, width, CarriedFrom::kBuild}, first, rows);
  }

  __device__ __forceinline__ void load(const CarriedUnit& chunk, uint32_t number,
                                       Batch* batch) const {
    uint32_t const first = number * kBatchRows + threadIdx.x % 32;
#pragma unroll
    for (int item = 0; item < kGroupJoinItems; ++item) {
      uint32_t const row = first + 32 * item;
      if (row >= chunk.probe_rows) break;
      batch->keys[item] = join.probe_keys[chunk.probe_first + row];
      batch->values[item] = first_value(uint64_t{chunk.probe_first} + row);
    }
  }

  // Of the first sum, where there is one.
  __device__ __forceinline__ uint32_t first_value(uint64_t row) const {
    if constexpr (kSums == ProbeSums::kOneWord) {
      return static_cast<const uint32_t*>(join.probe_sums[0].values)[row];
    }
    if (kSums == ProbeSums::kNone || join.probe_sum_count == 0) return 0;
    return join.probe_sums[0].load(row);
  }
  __device__ __forceinline__ int32_t sum_count() const {
    if constexpr (kSums == ProbeSums::kNone) return 0;
    if constexpr (kSums == ProbeSums::kOneWord) return 1;
    return join.probe_sum_count;
  }

  template <typename Next>
  __device__ void join_chunk(const CarriedUnit& chunk, Next next) {
    Keys const keys{join, chunk};
    Batch batch;
    load(chunk, threadIdx.x / 32, &batch);
    for (uint32_t i = threadIdx.x; i < chunk.build_rows; i += kGroupJoinThreads) {
      counts[i] = 0;
      for (int32_t sum = 0; sum < sum_count(); ++sum) {
        SlotSums const of(counts, sum);
        of.low[i] = of.high[i] = 0;
      }
    }
    if (threadIdx.x == 0) {
      block.batch = kWarps;
      block.groups = 0;
    }
    block.slots.build(join, chunk, keys);
    if (threadIdx.x < 32) next();
    look_up(chunk, batch);
    block_sync();
    Groups groups;
    find_groups(keys, groups);
    block_sync();
    if (threadIdx.x == 0) {
      block.base = atomicAdd(join.groups, static_cast<unsigned long long>(block.groups));
    }
    block_sync();
    write_groups(chunk, groups);
  }

  // Each warp has the batch of its own number first.
  __device__ void look_up(const CarriedUnit& chunk, Batch& ahead) {
    for (uint32_t number = threadIdx.x / 32; uint64_t{number} * kBatchRows < chunk.probe_rows;) {
      uint32_t const first = number * kBatchRows + threadIdx.x % 32;
      Batch const batch = ahead;
      number = warp_take(&block.batch);
      load(chunk, number, &ahead);
      uint32_t slots[kGroupJoinItems];
#pragma unroll
      for (int item = 0; item < kGroupJoinItems; ++item) {
        bool const found = block.slots.find(join, batch.keys[item], &slots[item]);
        bool const is_row = first + 32 * item < chunk.probe_rows;
        if (!found || !is_row) slots[item] = kCarriedBuildRows + threadIdx.x % 32;
      }
      add_rows(uint64_t{chunk.probe_first} + first, slots, batch);
      __syncwarp();
    }
  }

  // row: the lane's first; others are each 32 further. Of those that are no rows nothing is read.
  __device__ __forceinline__ void add_rows(uint64_t row, const uint32_t (&slots)[kGroupJoinItems],
                                           const Batch& batch) {
#pragma unroll
    for (uint32_t const slot : slots) atomicAdd(&counts[slot], 1U);
    for (int32_t sum = 0; sum < sum_count(); ++sum) {
      SummedColumn const& column = join.probe_sums[sum];
      int64_t values[kGroupJoinItems];
#pragma unroll
      for (int item = 0; item < kGroupJoinItems; ++item) {
        bool const is_met = slots[item] < kCarriedBuildRows;
        uint32_t const value =
            sum == 0 || !is_met ? batch.values[item] : column.load(row + 32 * item);
        values[item] = column.widen(value);
      }
      SlotSums(counts, sum).add(slots, values);
    }
  }

  // A thread's rows of the chunk: the slots of those that are put out, and the warp's first place.
  struct Groups {
    uint32_t slots[kGroupJoinBuildItems];
    Key keys[kGroupJoinBuildItems];
    uint32_t first;
  };

  __device__ __forceinline__ void find_groups(const Keys& keys, Groups& groups) {
    uint32_t own = 0;
#pragma unroll
    for (int item = 0; item < kGroupJoinBuildItems; ++item) groups.slots[item] = kNoSlot;
    keys.each([&](int item, uint32_t, Key key) {
      uint32_t slot = 0;
      block.slots.find(join, key, &slot);
      // Keys may be loaded for more rows than a chunk has.
      if (item >= kGroupJoinBuildItems || counts[slot] == 0) return;
      groups.slots[item] = slot;
      groups.keys[item] = key;
      ++own;
    });
    uint32_t const all = __reduce_add_sync(0xffffffffU, own);
    if (threadIdx.x % 32 == 0) groups.first = atomicAdd(&block.groups, all);
    groups.first = __shfl_sync(0xffffffffU, groups.first, 0);
  }

  // Lanes have neighbours, and write neighbours.
  __device__ __forceinline__ void write_groups(const CarriedUnit& chunk,
                                               const Groups& groups) const {
    uint32_t const below = (1U << threadIdx.x % 32) - 1;
    uint64_t first = block.base + groups.first;
#pragma unroll
    for (int item = 0; item < kGroupJoinBuildItems; ++item) {
      bool const is_group = groups.slots[item] != kNoSlot;
      uint32_t const lanes = __ballot_sync(0xffffffffU, is_group);
      uint32_t const row = item * kGroupJoinThreads + threadIdx.x;
      if (is_group) {
        write_group(uint64_t{chunk.build_first} + row, groups.slots[item], groups.keys[item],
                    first + __popc(lanes & below));
      }
      first += __popc(lanes);
    }
  }

  __device__ __forceinline__ void write_group(uint64_t row, uint32_t slot, Key key,
                                              uint64_t at) const {
    uint32_t const count = counts[slot];
    if (join.counts != nullptr) join.counts[at] = count;
    for (int32_t sum = 0; sum < sum_count(); ++sum) {
      join.probe_totals[sum][at] = static_cast<uint64_t>(SlotSums(counts, sum).at(slot));
    }
    for (int32_t sum = 0; sum < join.build_sum_count; ++sum) {
      SummedColumn const& column = join.build_sums[sum];
      join.build_totals[sum][at] =
          static_cast<uint64_t>(column.widen(column.load(row)) * int64_t{count});
    }
    for (int32_t i = 0; i < join.column_count; ++i) {
      CarriedColumn const& column = join.columns[i];
      if (column.from == CarriedFrom::kKey) {
        static_cast<Key*>(column.target)[at] = unmix_key(block.slots.key_of(slot, key));
        continue;
      }
      with_value_type(column.width, [&](auto zero) {
        using Value = decltype(zero);
        static_cast<Value*>(column.target)[at] = static_cast<const Value*>(column.source)[row];
      });
    }
  }
};

template <typename Slots, ProbeSums kSums>
__global__ void __launch_bounds__(kGroupJoinThreads, kGroupJoinBlocksPerSm)
    group_join_kernel(const __grid_constant__ GroupJoin<typename Slots::Key> join) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  using Joining = GroupJoining<Slots, kSums>;
  auto& block = *reinterpret_cast<typename Joining::Block*>(dynamic_shared);
  Joining joining(join, block, reinterpret_cast<uint32_t*>(&block + 1));
  await_last_kernel();
  unsigned long long const units = join.unit_ends[join.partitions - 1];
  if (threadIdx.x < 32) joining.find_unit(blockIdx.x, units, block.units[0]);
  block_sync();
  for (uint32_t turn = 0; block.units[turn].number < units; turn ^= 1) {
    joining.join_unit(block.units[turn],
                      [&] { joining.find_unit(take_unit(join), units, block.units[turn ^ 1]); });
    block_sync();
  }
}

}  // namespace gpujoin::kernels
