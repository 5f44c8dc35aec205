// match_crossed.cuh: a unit whose keys many rows of either side have
//
// Source   ours
// Differs  from match_dealt.cuh: what is looked up for matches is their key, not their probe row;
//          how many a unit has is known before one is written: nobody asks for places of a few
// In       a unit's groups (carried_groups.cuh); keys and columns of its probe rows
// Out      rows of the output columns; left[] of a partition of more than two tables of build rows,
//          or one of which has more keys than there is room for, or many in one bucket
// Moves    as carried_columns.cuh
// Shared   as ordered_groups.cuh and crossed_keys.cuh; a vector reads its key, a place of a probe
//          row, and places of build rows
//
//   rows of a key come side by side on both sides, probe rows by its number on the build side
//   a lane writes vectors: some of a key's build rows with one probe row; some probe rows with one
//   of the build rows that are left over; and what is left of both one by one
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/crossed_keys.cuh"
#include "kernels/match/ordered_groups.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

template <typename KeyType, int kColumnWidth, typename Shape>
struct MatchCrossed {
  using Key = KeyType;
  using Join = CarriedJoin<Key>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr uint32_t kUnitRows = kCarriedDealtRows;
  static constexpr bool kWholeBuild = false;
  static constexpr bool kKeeps = false;
  static constexpr bool kStagesProbe = true;
  static constexpr bool kLoadsAhead = false;
  static constexpr uint32_t kPlaces =
      kWidth != 0 && sizeof(Key) == 4 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kBatch = 128;  // vectors

  struct Batch {  // of which nothing is loaded
    __device__ static void load(const Join&, const CarriedUnit&, uint32_t) {}
  };
  struct Shared : CarriedBlock {
    CarriedUnit other;
    uint32_t left_more;  // units that were left, less those that were crossed
    alignas(16) CarriedGroups<Key> groups;
    MixedBuckets mixed;
    NumberedKeys<Key> numbers;
    uint32_t keys;      // of both sides
    uint32_t of_build;  // vectors of build rows
    uint32_t of_probe;
    uint32_t singles;         // matches that are of no vector
    uint32_t singles_before;  // that are written before the vectors
    uint32_t cut;             // rows of the first vector that are, so that others are aligned
    CarriedPlaces::OfUnit of_unit;
    bool has_room;                             // for any of the matches
    uint16_t first_single[kCrossedKeys / 32];  // of as many keys
    // In the place of the build rows' keys and of starts of buckets, with one beyond the last key.
    __device__ CrossedKey<Key>* crossed() {
      static_assert(sizeof(CrossedKey<Key>) * (kCrossedKeys + 1) <= sizeof(groups.keys));
      return reinterpret_cast<CrossedKey<Key>*>(groups.keys);
    }
    __device__ uint16_t* first_of_probe() {
      static_assert(sizeof(uint16_t) * (kCrossedKeys + 1) <= sizeof(groups.starts));
      return reinterpret_cast<uint16_t*>(groups.starts);
    }
  };

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>&) { return kUnitRows; }
  __device__ static uint32_t first_row(const CarriedUnit&, uint32_t) { return 0; }
  __device__ static bool has_batch(const Shared& shared, uint32_t batch) {
    return shared.has_room && batch < parts_of(shared.of_build, kBatch) +
                                          parts_of(shared.of_probe, kBatch) +
                                          parts_of(shared.keys, 32);
  }
  __device__ static void start(const Join&, Shared& shared) { shared.left_more = 0; }

  // All threads; false: the partition is left to a join that deals. That hangs on all its build
  // rows, so that all its units are left: of two tables the other one is looked at, too.
  __device__ static bool build(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                               Shared& shared) {
    if (unit.probe_rows == 0) return false;
    // Where most had to be left others are not tried, if no other block decides about them.
    bool const is_vain = unit.is_only && shared.left_more >= kMostLeft;
    if (unit.is_heavy || is_vain) return leave_unit(join, unit);
    NumberedKeys<Key>& numbers = shared.numbers;
    for (uint32_t i = threadIdx.x; i < kCrossedKeys; i += kThreads) numbers.probe_rows[i] = 0;
    if (threadIdx.x == 0 && !unit.is_whole) shared.other = other_table(join, unit);
    block_sync();
#pragma unroll 1
    for (bool is_last = unit.is_whole;; is_last = true) {
      if (!number_rows(join, is_last ? unit : shared.other, shared)) {
        if (threadIdx.x == 0) ++shared.left_more;
        return leave_unit(join, unit);
      }
      if (is_last) break;
    }
    if (threadIdx.x == 0 && shared.left_more != 0) --shared.left_more;
    group_probe_rows(join, unit, shared);
    for (uint32_t i = shared.keys + 1 + threadIdx.x; i < kCrossedKeys; i += kThreads) {
      shared.crossed()[i].of_build = UINT32_MAX;
      shared.first_of_probe()[i] = UINT16_MAX;
    }
    block_sync();
    return true;
  }

  // All lanes of a warp.
  __device__ static void join_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                    Shared& shared, uint32_t number, const Batch&) {
    uint32_t const of_build = parts_of(shared.of_build, kBatch);
    uint32_t const of_probe = parts_of(shared.of_probe, kBatch);
    if (number < of_build) {
      write_of_build(join, unit, shared, kBatch * number);
    } else if (number < of_build + of_probe) {
      write_of_probe(join, unit, shared, kBatch * (number - of_build));
    } else {
      write_singles(join, unit, shared, 32 * (number - of_build - of_probe));
    }
    __syncwarp();
  }

 private:
  // All threads; false: they have more keys than there is room for.
  __device__ __forceinline__ static bool number_rows(const CarriedJoin<Key>& join,
                                                     const CarriedUnit& unit, Shared& shared) {
    NumberedKeys<Key>& numbers = shared.numbers;
    if (threadIdx.x == 0) numbers.count = 0;
    build_groups<kThreads>(join, unit, shared.groups);
    if (!order_groups<kThreads>(shared.groups, unit.build_rows, join.radix_bits, shared.mixed)) {
      numbers.count = kCrossedKeys + 1;
    }
    number_keys<kThreads>(shared.groups, unit.build_rows, numbers);
    block_sync();
    bool const has_room = numbers.count <= kCrossedKeys;
    block_sync();
    return has_room;
  }

  static constexpr uint32_t kMostLeft = 4;
  static constexpr int kProbeItems = kUnitRows / kThreads;
  static constexpr int kLoadsAtOnce = 4;

  // Writes a lane's rows, from the unit's match of that number on, if there is room.
  template <typename Run>
  __device__ __forceinline__ static void write_at(const CarriedJoin<Key>& join,
                                                  const CarriedUnit& unit, const Shared& shared,
                                                  uint32_t match, Run& rows) {
    CarriedPlaces::OfUnit const& places = shared.of_unit;
    rows.base = match < places.left ? places.first + match : places.others + match - places.left;
    if (rows.base >= join.capacity) return;
    rows.build_first = first_staged(unit);
    rows.probe_first = first_staged_probe(unit);
    write_carried_rows<kWidth>(join, rows);
  }
  __device__ __noinline__ static void write_single(const CarriedJoin<Key>& join,
                                                   const CarriedUnit& unit, const Shared& shared,
                                                   uint32_t match, Key key, uint32_t build,
                                                   uint32_t probe) {
    CrossedRun<Key, 1, true> row;
    row.keys = {key};
    row.build[0] = build;
    row.probe = {probe};
    write_at(join, unit, shared, match, row);
  }
  // number: of the unit's vectors.
  template <typename Run>
  __device__ __forceinline__ static void write_vector(const CarriedJoin<Key>& join,
                                                      const CarriedUnit& unit, const Shared& shared,
                                                      uint32_t number, Run& rows) {
    uint32_t const cut = shared.cut;
    if (cut == 0 || number != 0) {
      uint32_t const skipped = cut == 0 ? 0 : kPlaces - cut;
      write_at(join, unit, shared, shared.singles_before + kPlaces * number - skipped, rows);
      return;
    }
    uint32_t const others = kPlaces * (shared.of_build + shared.of_probe - 1);
#pragma unroll
    for (uint32_t i = 0; i < kPlaces; ++i) {
      write_single(join, unit, shared, shared.singles_before + (i < cut ? i : others + i),
                   rows.keys[i], rows.build[i], rows.probe[i]);
    }
  }

  // Vectors of a key's build rows with one of its probe rows.
  __device__ static void write_of_build(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                        Shared& shared, uint32_t first) {
    const CrossedKey<Key>* const crossed = shared.crossed();
    uint32_t owner = last_not_behind(first, [&](uint32_t key) { return crossed[key].of_build; });
    uint32_t next = crossed[owner + 1].of_build;
    uint32_t const end = min(first + kBatch, shared.of_build);
#pragma unroll 1
    for (uint32_t vector = first + threadIdx.x % 32; vector < end; vector += 32) {
#pragma unroll 1
      while (next <= vector) next = crossed[++owner + 1].of_build;
      CrossedKey<Key> const own = crossed[owner];
      CrossedRun<Key, kPlaces, true> rows;
      uint32_t in_row;
      uint32_t const probe = quotient_of(vector - own.of_build, own.build_rows / kPlaces, &in_row);
      uint32_t const position = own.build_first + kPlaces * in_row;
      rows.keys = {own.key};
      rows.probe = {shared.numbers.by_key[own.probe_first + probe]};
#pragma unroll
      for (uint32_t i = 0; i < kPlaces; ++i) rows.build[i] = shared.groups.rows[position + i];
      write_vector(join, unit, shared, vector, rows);
    }
  }

  // The same of its probe rows with one of the build rows that are left over.
  __device__ static void write_of_probe(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                        Shared& shared, uint32_t first) {
    const uint16_t* const firsts = shared.first_of_probe();
    uint32_t owner = last_not_behind(first, [&](uint32_t key) { return firsts[key]; });
    uint32_t const end = min(first + kBatch, shared.of_probe);
#pragma unroll 1
    for (uint32_t vector = first + threadIdx.x % 32; vector < end; vector += 32) {
#pragma unroll 1
      while (firsts[owner + 1] <= vector) ++owner;
      CrossedKey<Key> const own = shared.crossed()[owner];
      CrossedRun<Key, kPlaces, false> rows;
      uint32_t in_row;
      uint32_t const build = quotient_of(vector - firsts[owner], own.probe_rows / kPlaces, &in_row);
      uint32_t const position = own.build_first + own.build_rows / kPlaces * kPlaces + build;
      uint32_t const at = own.probe_first + kPlaces * in_row;
      rows.keys = {own.key};
      rows.build = {shared.groups.rows[position]};
#pragma unroll
      for (uint32_t i = 0; i < kPlaces; ++i) rows.probe[i] = shared.numbers.by_key[at + i];
      write_vector(join, unit, shared, shared.of_build + vector, rows);
    }
  }

  // Matches of the rows of both sides that are left over, of 32 keys.
  __device__ static void write_singles(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                       Shared& shared, uint32_t first) {
    constexpr uint32_t kAll = 0xffffffffU;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t count = 0;
    if (first + lane < shared.keys) {
      CrossedKey<Key> const& key = shared.crossed()[first + lane];
      count = key.build_rows % kPlaces * (key.probe_rows % kPlaces);
    }
    uint32_t const behind = warp_inclusive_sum(count);
    uint32_t const total = __shfl_sync(kAll, behind, 31);
#pragma unroll 1
    for (uint32_t single = lane; single - lane < total; single += 32) {
      // The first key behind whose last one it does not lie.
      uint32_t owner = 0;
#pragma unroll
      for (uint32_t step = 16; step != 0; step /= 2) {
        if (__shfl_sync(kAll, behind, owner + step - 1) <= single) owner += step;
      }
      uint32_t const before = __shfl_sync(kAll, behind - count, owner);
      if (single >= total) continue;
      CrossedKey<Key> const own = shared.crossed()[first + owner];
      uint32_t const of_build = own.build_rows % kPlaces;
      uint32_t build = single - before;
      uint32_t probe = 0;
      static_assert(kPlaces <= 4);
      for (int i = 0; i < 2; ++i) {
        if (build < of_build) continue;
        build -= of_build;
        ++probe;
      }
      uint32_t const at = shared.first_single[first / 32] + single;
      bool const is_before = at < shared.singles_before;
      write_single(join, unit, shared,
                   is_before ? at : at + kPlaces * (shared.of_build + shared.of_probe), own.key,
                   shared.groups.rows[own.build_first + own.build_rows - 1 - build],
                   shared.numbers.by_key[own.probe_first + own.probe_rows - 1 - probe]);
    }
  }

  // All threads: probe rows of a key side by side, and the keys that have some.
  __device__ static void group_probe_rows(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                          Shared& shared) {
    constexpr uint32_t kNone = UINT32_MAX;
    NumberedKeys<Key>& numbers = shared.numbers;
    const Key* const source = join.probe_keys + unit.probe_first;
    uint32_t places[kProbeItems];  // rank among the key's << 16 | its number
#pragma unroll
    for (int begin = 0; begin < kProbeItems; begin += kLoadsAtOnce) {
      Key loaded[kLoadsAtOnce];
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce; ++i) {
        uint32_t const row = (begin + i) * kThreads + threadIdx.x;
        if (row < unit.probe_rows) loaded[i] = source[row];
      }
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce; ++i) {
        int const item = begin + i;
        places[item] = kNone;
        if (item * kThreads >= unit.probe_rows) continue;
        uint32_t number = kCrossedKeys;
        if (item * kThreads + threadIdx.x < unit.probe_rows) {
          number = numbers.number_of(shared.groups, loaded[i], join.radix_bits);
        }
        uint32_t const lanes = __ballot_sync(0xffffffffU, number != kCrossedKeys);
        if (number != kCrossedKeys) places[item] = numbers.rank_of(number, lanes) << 16 | number;
      }
    }
    block_sync();
    list_keys(shared);
    block_sync();
    // It waits for a counter in global memory while others place rows.
    if (threadIdx.x == kThreads - 1) place_matches(join, shared);
    uint32_t const head = unit.probe_first - first_staged_probe(unit);
#pragma unroll
    for (int item = 0; item < kProbeItems; ++item) {
      if (places[item] == kNone) continue;
      uint32_t const at = numbers.probe_rows[places[item] & 0xffffU] + (places[item] >> 16);
      numbers.by_key[at] = static_cast<uint16_t>(head + item * kThreads + threadIdx.x);
    }
  }

  // All threads, with keys side by side.
  __device__ static void list_keys(Shared& shared) {
    constexpr uint32_t kKeys = kCrossedKeys / kThreads;
    NumberedKeys<Key>& numbers = shared.numbers;
    uint32_t const first = threadIdx.x * kKeys;
    CrossedKey<Key> own[kKeys];
    uint32_t of_build = 0;
    uint32_t of_probe = 0;  // singles << 16 | vectors of probe rows
    uint32_t rows = 0;      // keys << 16 | probe rows
    auto const count = [&](const CrossedKey<Key>& key) {
      of_build += key.build_rows / kPlaces * key.probe_rows;
      uint32_t const left_over = key.build_rows % kPlaces;
      of_probe +=
          left_over * (key.probe_rows / kPlaces) + (left_over * (key.probe_rows % kPlaces) << 16);
      rows += 1U << 16 | key.probe_rows;
    };
#pragma unroll
    for (uint32_t i = 0; i < kKeys; ++i) {
      own[i].probe_rows = static_cast<uint16_t>(numbers.probe_rows[first + i]);
      if (own[i].probe_rows == 0) continue;
      own[i].build_first = numbers.first[first + i];
      own[i].build_rows = numbers.first[first + i + 1] - own[i].build_first;
      own[i].key = unmix_key(shared.groups.keys[own[i].build_first]);
      count(own[i]);
    }
    // Between these sums everybody comes to a barrier: keys are not read any more.
    of_build = block_exclusive_sum<kThreads>(of_build, numbers.sums[0]);
    of_probe = block_exclusive_sum<kThreads>(of_probe, numbers.sums[1]);
    rows = block_exclusive_sum<kThreads>(rows, numbers.sums[2]);
    auto const list = [&](CrossedKey<Key>& key) {
      uint32_t const number = rows >> 16;
      key.of_build = of_build;
      key.probe_first = static_cast<uint16_t>(rows);
      shared.crossed()[number] = key;
      shared.first_of_probe()[number] = static_cast<uint16_t>(of_probe);
      if (number % 32 == 0 && number < kCrossedKeys) {
        shared.first_single[number / 32] = static_cast<uint16_t>(of_probe >> 16);
      }
    };
#pragma unroll
    for (uint32_t i = 0; i < kKeys; ++i) {
      if (own[i].probe_rows == 0) continue;
      list(own[i]);
      numbers.probe_rows[first + i] = own[i].probe_first;
      count(own[i]);
    }
    if (threadIdx.x != kThreads - 1) return;
    CrossedKey<Key> beyond{};
    list(beyond);
    shared.keys = rows >> 16;
    shared.of_build = of_build;
    shared.of_probe = of_probe & 0xffffU;
    shared.singles = of_probe >> 16;
  }

  // By one thread. Vectors begin where a line of the output does, or a sector, or a vector, behind
  // singles; if there are too few, behind rows of the first vector, whose others come last.
  __device__ static void place_matches(const CarriedJoin<Key>& join, Shared& shared) {
    uint32_t const singles = shared.singles;
    uint32_t const vectors = shared.of_build + shared.of_probe;
    shared.of_unit = CarriedPlaces::take_all(join, shared.places, kPlaces * vectors + singles);
    CarriedPlaces::OfUnit const& places = shared.of_unit;
    auto const before = [&](uint32_t of_one) {
      return static_cast<uint32_t>(0 - places.first % of_one) % of_one;
    };
    shared.has_room = (places.left != 0 ? places.first : places.others) < join.capacity;
    shared.singles_before = 0;
    shared.cut = 0;
    for (uint32_t const of_one : {32U, 8U, kPlaces}) {
      if (before(of_one) > singles) continue;
      shared.singles_before = before(of_one);
      return;
    }
    shared.cut = vectors != 0 ? before(kPlaces) : 0;
  }
};

}  // namespace gpujoin::kernels
