// match_by_rank.cuh: a unit whose build keys are unique, in shared memory as one bit a possible key
//
// Source   ours, with the rank of a bit as in succinct dictionaries (Jacobson, FOCS 1989): what is
//          left of a mixed key of 4 bytes when its partition is known has so few values that a bit
//          for each fits shared memory
// Differs  from carried_groups.cuh: a lookup compares no key and has no loop, so that lanes do not
//          wait for each other: a bit says whether the key is there, and the bits before it which
//          row it is
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      rows of the output columns; where it keeps them, rows of either side without a match, in
//          outputs of their own or among the pairs; left[] of a partition whose keys repeat or are
//          too many
// Needs    32 - radix_bits <= kCarriedRankBits
// Moves    |key| a build row
// Shared   one atomic or a build row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/chunk_rows.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kCarriedRankWords = 1U << (kCarriedRankBits - 5);

struct alignas(16) CarriedRanks {
  uint32_t bits[kCarriedRankWords];
  uint16_t before[kCarriedRankWords];  // bits that are set in the words before
  uint16_t rows[kCarriedBuildRows];    // in the order of the bits
  uint32_t warp_sums[32];

  // Whether there is the key, and its place among rows[]. rest: what the partition does not tell of
  // it.
  __device__ __forceinline__ bool find(uint32_t rest, uint32_t* place) const {
    uint32_t const word = bits[rest / 32];
    uint32_t const bit = 1U << rest % 32;
    *place = before[rest / 32] + __popc(word & (bit - 1));
    return (word & bit) != 0;
  }
};

// All threads.
template <int kThreads>
__device__ __forceinline__ void sum_bits(CarriedRanks& ranks) {
  constexpr int kWords = kCarriedRankWords / kThreads;
  static_assert(kWords % 2 == 0);
  uint32_t const first = threadIdx.x * kWords;
  uint32_t counts[kWords];
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    counts[i] = __popc(ranks.bits[first + i]);
    own += counts[i];
  }
  uint32_t before = block_exclusive_sum<kThreads>(own, ranks.warp_sums);
  // Of two words in one of 4 bytes.
  auto* const pairs = reinterpret_cast<uint32_t*>(ranks.before) + first / 2;
#pragma unroll
  for (int i = 0; i < kWords; i += 2) {
    uint32_t const second = before + counts[i];
    pairs[i / 2] = before | second << 16;
    before = second + counts[i + 1];
  }
}

// Which rows without a match are written, and where.
enum class Keeping { kNone, kApart, kAmongPairs };

// A probe row without a match is seen at once, a build row when the unit ends, by a bit of its
// number: then the unit must have all of the partition.
template <int kColumnWidth, typename Shape, Keeping kKeeping>
struct MatchByRank {
  using Key = uint32_t;
  static constexpr bool kKeeps = kKeeping != Keeping::kNone;
  static constexpr bool kAmongPairs = kKeeping == Keeping::kAmongPairs;
  using Join = std::conditional_t<kAmongPairs, OuterPairs<Key>,
                                  std::conditional_t<kKeeps, KeepingJoin<Key>, CarriedJoin<Key>>>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr int kItems = kWidth != 0 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kUnitRows = kCarriedProbeRows;
  static constexpr bool kWholeBuild = false;
  static constexpr bool kLoadsAhead = true;
  using Batch = BatchKeys<MatchByRank>;

  struct Shared : CarriedBlock {
    bool repeats;                           // a key does
    bool has_repeated;                      // one did in a unit before
    CarriedPlaces::Shared places_of_build;  // where rows are kept apart
    CarriedPlaces::Shared places_of_probe;
    uint32_t alone_of_build;  // among pairs; a block has less than 2^32 rows
    uint32_t alone_of_probe;
    CarriedRanks ranks;
  };

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>&) { return kUnitRows; }
  __device__ static uint32_t first_row(const CarriedUnit&, uint32_t batch) {
    return 32 * kItems * batch;
  }
  __device__ static void start(const Join& join, Shared& shared) {
    shared.has_repeated = false;
    if constexpr (kKeeps) shared.alone_of_build = shared.alone_of_probe = 0;
    if constexpr (kKeeps && !kAmongPairs) {
      CarriedPlaces::start(join.of_build, shared.places_of_build);
      CarriedPlaces::start(join.of_probe, shared.places_of_probe);
    }
  }

  // All threads; false: the unit is left to a join that can do it.
  __device__ static bool build(const Join& join, const CarriedUnit& unit, Shared& shared) {
    // Where a key repeats others will. Of a partition with more units all must come to the same.
    if (!unit.is_whole || (shared.has_repeated && unit.is_only)) return leave_unit(join, unit);
    if (keeps_build(join) && !unit.is_only) return leave_unit(join, unit);
    if (threadIdx.x == 0) shared.repeats = false;
    // What a thread of a small block has does not fit its registers.
    constexpr int kItemsOfThread = (kCarriedBuildRows + kThreads - 1) / kThreads;
    using Keys = std::conditional_t<kItemsOfThread <= 9, HeldKeys<kThreads, kItemsOfThread, Key>,
                                    LoadedKeys<kThreads, Key>>;
    Keys const keys{join, unit};
    auto* const vectors = reinterpret_cast<uint4*>(shared.ranks.bits);
    for (uint32_t i = threadIdx.x; i < kCarriedRankWords / 4; i += kThreads) {
      vectors[i] = {0, 0, 0, 0};
    }
    block_sync();
    bool repeats = false;
    keys.each([&](int, uint32_t, Key key) {
      uint32_t const rest = key >> join.radix_bits;
      uint32_t const bit = 1U << rest % 32;
      repeats = repeats || (atomicOr(&shared.ranks.bits[rest / 32], bit) & bit) != 0;
    });
    if (repeats) shared.repeats = true;
    block_sync();
    if (shared.repeats) {
      if (threadIdx.x == 0) shared.has_repeated = true;
      return leave_unit(join, unit);
    }
    sum_bits<kThreads>(shared.ranks);
    block_sync();
    uint32_t const head = unit.build_first % kStageAlign;
    keys.each([&](int, uint32_t row, Key key) {
      uint32_t place = 0;
      shared.ranks.find(key >> join.radix_bits, &place);
      shared.ranks.rows[place] = static_cast<uint16_t>(head + row);
    });
    __pipeline_wait_prior(0);
    block_sync();
    return true;
  }

  // All lanes of a warp.
  __device__ static void join_batch(const Join& join, const CarriedUnit& unit, Shared& shared,
                                    uint32_t number, const Batch& batch) {
    uint32_t const first = first_row(unit, number);
    uint32_t const left = unit.probe_rows - first;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const below = (1U << lane) - 1;
    LaneRows<Key, kItems> rows;
    start_batch(unit, first, batch, rows);
    uint32_t slots = 0;
    uint32_t found = 0;
    uint32_t alone = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t place = 0;
      bool const matches =
          item * 32 + lane < left && shared.ranks.find(rows.keys[item] >> join.radix_bits, &place);
      bool const is_written =
          matches || (kAmongPairs && keeps_probe(join) && item * 32 + lane < left);
      uint32_t const lanes = __ballot_sync(0xffffffffU, is_written);
      rows.slots[item] = is_written ? slots + __popc(lanes & below) : kNoSlot;
      if (kAmongPairs) rows.build[item] = kNoRowOfSide;
      if (matches) {
        uint32_t const row = shared.ranks.rows[place];
        rows.build[item] = kKeeps ? row & ~kMet : row;
        // Whoever writes it writes the same.
        if (kKeeps && (row & kMet) == 0) shared.ranks.rows[place] = row | kMet;
      }
      slots += __popc(lanes);
      found += is_written;
      if (kAmongPairs) alone += is_written && !matches;
    }
    if (is_missed(join, shared, found)) return;
    write_batch<kWidth>(join, shared, slots, rows);
    if constexpr (kAmongPairs) {
      if (keeps_probe(join)) count_alone(&shared.alone_of_probe, alone);
    } else if constexpr (kKeeps) {
      if (!keeps_probe(join)) return;
      slots = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        bool const is_alone = item * 32 + lane < left && rows.slots[item] == kNoSlot;
        uint32_t const lanes = __ballot_sync(0xffffffffU, is_alone);
        rows.slots[item] = is_alone ? slots + __popc(lanes & below) : kNoSlot;
        slots += __popc(lanes);
      }
      write_without_match<kWidth>(join.of_probe, shared.places_of_probe, slots, rows);
    }
  }

  // All threads, after a barrier: the build rows that no probe row met.
  __device__ static void end_unit(const Join& join, const CarriedUnit& unit, Shared& shared) {
    if (!keeps_build(join)) return;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const below = (1U << lane) - 1;
    uint32_t const first_row = first_staged(unit);
#pragma unroll 1
    for (uint32_t first = threadIdx.x / 32 * 32 * kItems; first < unit.build_rows;
         first += kThreads * kItems) {
      LaneRows<Key, kItems> rows;
      rows.build_first = first_row;
      uint32_t slots = 0;
      uint32_t alone = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint32_t const place = first + item * 32 + lane;
        uint32_t const row = place < unit.build_rows ? shared.ranks.rows[place] : kMet;
        bool const is_alone = (row & kMet) == 0;
        uint32_t const lanes = __ballot_sync(0xffffffffU, is_alone);
        rows.slots[item] = is_alone ? slots + __popc(lanes & below) : kNoSlot;
        rows.build[item] = row;
        if constexpr (kAmongPairs) {
          rows.probe[item] = kNoRowOfSide;
        } else {
          bool const has_key = is_alone && join.of_build.have_keys;
          if (has_key) rows.keys[item] = join.build_keys[first_row + row];
        }
        alone += is_alone;
        slots += __popc(lanes);
      }
      if constexpr (kAmongPairs) {
        if (is_missed(join, shared, alone)) continue;
        write_slots<kWidth>(join, shared, slots, rows);
        count_alone(&shared.alone_of_build, alone);
      } else {
        write_without_match<kWidth>(join.of_build, shared.places_of_build, slots, rows);
      }
    }
  }

  // One thread, after the others wrote theirs.
  __device__ static void finish(const Join& join, const Shared& shared) {
    if constexpr (kAmongPairs) {
      atomicAdd(&join.counters->alone_of_build, uint64_t{shared.alone_of_build});
      atomicAdd(&join.counters->alone_of_probe, uint64_t{shared.alone_of_probe});
    } else {
      if (keeps_build(join)) CarriedPlaces::finish(join.of_build, shared.places_of_build);
      if (keeps_probe(join)) CarriedPlaces::finish(join.of_probe, shared.places_of_probe);
    }
  }

 private:
  static constexpr uint32_t kMet = 0x8000;  // in ranks.rows[]
  static_assert(kCarriedBuildRows + kStageAlign <= kMet);

  __device__ __forceinline__ static bool keeps_build(const Join& join) {
    if constexpr (kAmongPairs) return join.keeps_build;
    if constexpr (kKeeping == Keeping::kApart) return join.of_build.are_wanted;
    return false;
  }
  __device__ __forceinline__ static bool keeps_probe(const Join& join) {
    if constexpr (kAmongPairs) return join.keeps_probe;
    if constexpr (kKeeping == Keeping::kApart) return join.of_probe.are_wanted;
    return false;
  }
  // All lanes of a warp.
  __device__ __forceinline__ static void count_alone(uint32_t* counter, uint32_t of_lane) {
    uint32_t const all = __reduce_add_sync(0xffffffffU, of_lane);
    if (threadIdx.x % 32 == 0 && all != 0) atomicAdd(counter, all);
  }
};

}  // namespace gpujoin::kernels
