// match_dealt.cuh: a unit whose probe rows match many build rows each
//
// Source   ours; that each thread writes as many rows however unequal the matches are is
//          load-balanced search (Baxter, moderngpu)
// In       a unit's groups (carried_groups.cuh)
// Out      rows of the output columns
// Moves    as carried_columns.cuh
// Shared   as ordered_groups.cuh; a row's key, number and first match, for each of a warp's probe
//          rows; 5 reads a lane to look up a row
//
//   rows of a key are brought side by side in buckets that several keys share
//   a lane finds the matches of one probe row
//   of a partition with a heavy key several warps look up the same rows, and each takes a part of
//   every row's matches
//   a part of very many is written by itself: nothing has to be looked up for each match
//   all other matches of the warp's rows are dealt to the lanes, some places side by side to each,
//   from where a line of the output begins; which row a lane's first place belongs to is looked up
//   among the rows' first matches
#pragma once

#include <cstdint>

#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/ordered_groups.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

// Probe rows of a warp that have matches side by side, one after the other.
template <typename Key>
struct DealtRows {
  Key keys[32];
  uint32_t probe[32];
  uint32_t begin[33];     // number of the first match; beyond the last row that of all matches
  uint32_t position[32];  // of match 0 in the groups, were it this row's

  // The row of a match.
  __device__ __forceinline__ uint32_t owner_of(uint32_t match) const {
    uint32_t owner = 0;
#pragma unroll
    for (uint32_t step = 16; step != 0; step /= 2) {
      if (begin[owner + step] <= match) owner += step;
    }
    return owner;
  }
};

// Where the rows with the key of the one at `first` end, which lie side by side.
template <typename Key>
__device__ __forceinline__ uint32_t run_end(const CarriedGroups<Key>& groups, uint32_t first,
                                            uint32_t end) {
  Key const key = groups.keys[first];
#pragma unroll 1
  while (end - first > 1) {
    uint32_t const middle = first + (end - first) / 2;
    if (groups.keys[middle] == key) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return end;
}

// A key's rows in groups that are in order.
struct OrderedMatches {
  uint32_t first;
  uint32_t count;
  bool are_scattered;  // they do not lie side by side
};

template <typename Key>
__device__ __forceinline__ OrderedMatches find_ordered(const CarriedGroups<Key>& groups, Key key,
                                                       int32_t radix_bits) {
  uint32_t const bucket = carried_bucket(key, radix_bits);
  uint32_t const start = groups.start_of(bucket);
  uint32_t const end = groups.start_of(bucket + 1);
  OrderedMatches found = {start, 0, false};
  if (start == end) return found;
  Key const first = groups.keys[start];
  if (first == groups.keys[end - 1]) {
    if (first == key) found.count = end - start;
    return found;
  }
  // As order_bucket left it.
  uint32_t rest = start;
#pragma unroll 1
  for (uint32_t keys = 0; keys < kOrderedKeys && end - rest > 32; ++keys) {
    uint32_t const next = run_end(groups, rest, end);
    if (groups.keys[rest] == key) return {rest, next - rest, false};
    rest = next;
  }
  found.first = end;
#pragma unroll 1
  for (uint32_t at = rest; at < end; ++at) {
    if (groups.keys[at] != key) continue;
    found.first = min(found.first, at);
    ++found.count;
  }
  found.are_scattered = end - rest > 32 && found.count != 0;
  return found;
}

template <typename KeyType, int kColumnWidth, typename Shape>
struct MatchDealt {
  using Key = KeyType;
  using Join = CarriedJoin<Key>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr uint32_t kUnitRows = kCarriedDealtRows;
  static constexpr bool kWholeBuild = false;
  static constexpr bool kKeeps = false;
  static constexpr int kItems = 1;
  static constexpr bool kLoadsAhead = true;
  using Batch = BatchKeys<MatchDealt>;
  static constexpr int kPlaces =
      kWidth != 0 && sizeof(Key) == 4 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kAll = 0xffffffffU;

  struct Shared : CarriedBlock {
    CarriedGroups<Key> groups;
    MixedBuckets mixed;
    DealtRows<Key> dealt[kThreads / 32];
  };

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>& join) { return *join.heavy_rows; }
  __device__ static uint32_t part_bits(const CarriedUnit& unit) {
    return unit.is_heavy ? kCarriedPartBits : 0;
  }
  // Parts of the same rows have numbers one after the other.
  __device__ static uint32_t first_row(const CarriedUnit& unit, uint32_t batch) {
    return 32 * (batch >> part_bits(unit));
  }
  __device__ static void start(const Join&, Shared&) {}

  __device__ static bool build(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                               Shared& shared) {
    build_groups<kThreads>(join, unit, shared.groups);
    order_groups<kThreads>(shared.groups, unit.build_rows, join.radix_bits, shared.mixed);
    return true;
  }

  // All lanes of a warp: a part of the batch's matches, if it has parts.
  __device__ static void join_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                    Shared& shared, uint32_t number, const Batch& batch) {
    uint32_t const row = first_row(unit, number) + threadIdx.x % 32;
    uint32_t const probe = unit.probe_first + row;
    Key key = 0;
    OrderedMatches found{};
    if (row < unit.probe_rows) {
      key = batch.keys[0];
      found = find_ordered(shared.groups, key, join.radix_bits);
    }
    uint32_t const bits = part_bits(unit);
    if (bits != 0) found = part_of(found, number & ((1U << bits) - 1), bits);
    if (is_missed(join, shared, found.count)) return;
    uint32_t const build_first = first_staged(unit);
#pragma unroll 1
    for (uint32_t lanes = __ballot_sync(kAll, found.are_scattered); lanes != 0;
         lanes &= lanes - 1) {
      int const owner = __ffs(static_cast<int>(lanes)) - 1;
      Key const scanned = __shfl_sync(kAll, key, owner);
      write_by_scan<kWidth>(join, shared, shared.groups, scanned, __shfl_sync(kAll, probe, owner),
                            build_first);
    }
    if (found.are_scattered) found.count = 0;
    write_long_runs(join, shared, key, probe, found, build_first);
    deal(join, shared, key, probe, found.first, found.count, build_first);
  }

 private:
  // What is scattered has no parts: the first has it all.
  __device__ static OrderedMatches part_of(const OrderedMatches& found, uint32_t part,
                                           uint32_t part_bits) {
    if (found.are_scattered) return part == 0 ? found : OrderedMatches{};
    uint32_t const before = found.count * part >> part_bits;
    uint32_t const end = found.count * (part + 1) >> part_bits;
    return {found.first + before, end - before, false};
  }

  // Those of rows with so many that a warp does well to write them by themselves; they have none
  // afterwards.
  __device__ static void write_long_runs(const CarriedJoin<Key>& join, Shared& shared, Key key,
                                         uint32_t probe, OrderedMatches& found,
                                         uint32_t build_first) {
    bool const is_long = found.count >= kCarriedLongRun;
#pragma unroll 1
    for (uint32_t lanes = __ballot_sync(kAll, is_long); lanes != 0; lanes &= lanes - 1) {
      int const owner = __ffs(static_cast<int>(lanes)) - 1;
      write_long_run(join, shared, __shfl_sync(kAll, key, owner), __shfl_sync(kAll, probe, owner),
                     __shfl_sync(kAll, found.first, owner), __shfl_sync(kAll, found.count, owner),
                     build_first);
    }
    if (is_long) found.count = 0;
  }

  // All lanes of a warp: the matches of one probe row that lie side by side, from the position on.
  __device__ static void write_long_run(const CarriedJoin<Key>& join, Shared& shared, Key key,
                                        uint32_t probe, uint32_t position, uint32_t count,
                                        uint32_t build_first) {
    CarriedRun<Key, kPlaces> rows;
    rows.build_first = build_first;
#pragma unroll
    for (int item = 0; item < kPlaces; ++item) {
      rows.keys[item] = unmix_key(key);
      rows.probe[item] = probe;
    }
    write_matches(join, shared, count, rows, [&](uint32_t match) {
#pragma unroll
      for (int item = 0; item < kPlaces; ++item) {
        if (!rows.is_written(item)) continue;
        rows.build[item] = shared.groups.rows[position + match + item];
      }
    });
  }

  // Writes matches: set(first) sets the lane's rows, of which the first is that match.
  template <typename Set>
  __device__ __forceinline__ static void write_matches(const CarriedJoin<Key>& join, Shared& shared,
                                                       uint32_t count,
                                                       CarriedRun<Key, kPlaces>& rows, Set set) {
#pragma unroll 1
    for (uint32_t written = 0; written != count; written += rows.slot_count) {
      rows.base = CarriedPlaces::take(join, shared.places, min(count - written, join.chunk),
                                      &rows.slot_count);
      if (rows.base >= join.capacity) {
        shared.is_full = true;
        continue;
      }
      // Slots count from where a line of the output begins.
      rows.first_slot = static_cast<uint32_t>(rows.base % 32);
      uint32_t const slots = rows.first_slot + rows.slot_count;
#pragma unroll 1
      for (rows.slot = kPlaces * (threadIdx.x % 32); rows.slot < slots; rows.slot += 32 * kPlaces) {
        set(written + rows.slot - rows.first_slot);
        write_carried_rows<kWidth>(join, rows);
      }
      __syncwarp();
    }
  }

  // count: of matches side by side, from the position on.
  __device__ static void deal(const CarriedJoin<Key>& join, Shared& shared, Key key, uint32_t probe,
                              uint32_t position, uint32_t count, uint32_t build_first) {
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const below = (1U << lane) - 1;
    uint32_t const end = warp_inclusive_sum(count);
    uint32_t const begin = end - count;
    uint32_t const total = __shfl_sync(kAll, end, 31);
    DealtRows<Key>& dealt = shared.dealt[threadIdx.x / 32];
    uint32_t const owners = __ballot_sync(kAll, count != 0);
    // Rows without a match come last.
    uint32_t const number =
        count != 0 ? __popc(owners & below) : __popc(owners) + __popc(~owners & below);
    dealt.keys[number] = unmix_key(key);
    dealt.probe[number] = probe;
    dealt.begin[number] = count != 0 ? begin : total;
    dealt.position[number] = position - begin;
    if (lane == 0) dealt.begin[32] = total;
    __syncwarp();
    CarriedRun<Key, kPlaces> rows;
    rows.build_first = build_first;
    write_matches(join, shared, total, rows, [&](uint32_t match) {
      // Before the first of them the line belongs to others.
      bool const is_before = rows.slot < rows.first_slot;
      uint32_t owner = dealt.owner_of(is_before ? match + rows.first_slot - rows.slot : match);
#pragma unroll
      for (int item = 0; item < kPlaces; ++item) {
        if (!rows.is_written(item)) continue;
        if (dealt.begin[owner + 1] <= match + item) ++owner;
        rows.keys[item] = dealt.keys[owner];
        rows.probe[item] = dealt.probe[owner];
        rows.build[item] = shared.groups.rows[dealt.position[owner] + match + item];
      }
    });
    __syncwarp();  // the next rows come where these were
  }
};

}  // namespace gpujoin::kernels
