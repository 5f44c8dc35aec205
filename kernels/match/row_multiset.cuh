// row_multiset.cuh: a multiset of (hash, row number), open addressing, probed by tiles of lanes;
// the hash is computed in the kernels
//
// Paper    Lin & Liao 2025, sections 3.1, 3.1.2 and 4.3: cuCollections' static_multiset over hash
//          and row number; build (insert), count, retrieve. Equal hashes are candidates, and the
//          key columns decide
// Differs  a slot is free when it names no row, so no key and no hash is reserved. A tile's window
//          is one aligned sector. The windows of a hash are an arithmetic progression with an odd
//          step (double hashing, cuCollections' default for multisets; the paper's figure 3 goes to
//          the next slot), so that the rows of a heavy key do not crowd its neighbours. An
//          insertion that meets many full windows asks a directory how far its sequence is full: n
//          equal keys take n steps, not n * n / 8
//
//   slot (8 bytes):  | tag 32 | row 32 |      window: kMultisetTile slots      hash: | place 32 |
//   tag 32 |
//
//          the windows of a hash: place, place + step, place + 2 step ... modulo their number.
//          Slots are never given back, so a key's rows lie in the windows up to the first that has
//          a free slot.
// In       keys of both sides (WordKey or KeyColumns), and the rows that take part: all, or a list
//          of those without NULL
// Out      build: the slots; count: a total; retrieve: pairs of row numbers through the sink, from
//          each warp's buffer
// Needs    at least twice as many slots as rows, so that every sequence ends; a power of two of
//          windows
// Launch   build: ceil(rows / kStreamTile) blocks of kStreamThreads; count and retrieve: a grid
//          that fills the device, blocks of kMultisetThreads, warps take units of kMultisetUnitRows
//          rows in order
// Moves    build: |key| + one random read-modify-write of a sector a row; count, retrieve: |key| +
//          a random sector a row and for each four further pairs + a random sector a pair and key
//          column to verify; retrieve: + 8 bytes a pair (traffic::row_multiset_build, _count,
//          _retrieve)
#pragma once

#include <cstdint>

#include "kernels/match/global_table.cuh"
#include "kernels/match/key_columns.cuh"
#include "kernels/output/warp_buffer.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_take.cuh"

namespace gpujoin::kernels {

constexpr unsigned kWarp = 0xffffffffU;
constexpr unsigned kWholeTile = (1U << kMultisetTile) - 1;
constexpr unsigned long long kNobody = ~0ULL;

// How far the sequence of a hash is full: kMultisetLongWalk windows, and `taken` + 1 slots beyond
// them (all ones: none). Whoever takes a slot fills it, or finds it filled and takes another, so
// the count has no holes when the build has ended.
struct LongSequence {
  unsigned long long hash;  // kNobody: free
  unsigned long long taken;
};

struct RowMultiset {
  unsigned long long* slots;  // [kMultisetTile * (window_mask + 1)], all kFreeSlot before the build
  uint64_t window_mask;
  LongSequence* long_sequences;  // [long_mask + 1], all ones before the build
  uint64_t long_mask;

  __device__ uint64_t window_of(uint64_t hash) const { return hash >> 32 & window_mask; }
  // Odd, so that a sequence visits every window.
  __device__ uint64_t step_of(uint64_t hash) const {
    return __brev(static_cast<uint32_t>(hash)) | 1U;
  }
  // The lane's slot in its tile's window.
  __device__ unsigned long long* slot_of(uint64_t window) const {
    return slots + (window & window_mask) * kMultisetTile + threadIdx.x % kMultisetTile;
  }
  // Past the first cache, which has better use for key columns: nothing of a window is read twice.
  __device__ unsigned long long read(uint64_t window) const { return __ldcg(slot_of(window)); }
};

// The rows of one side that take part.
template <typename Keys>
struct KeyedRows {
  Keys keys;
  const uint32_t* row_numbers;  // [rows], or null: 0, 1, 2 ...
  uint32_t rows;

  __device__ uint32_t row_at(uint64_t position) const {
    return row_numbers != nullptr ? row_numbers[position] : static_cast<uint32_t>(position);
  }
};

// The tile's bits of a ballot.
__device__ inline unsigned tile_bits(unsigned ballot) {
  return ballot >> (threadIdx.x % 32 / kMultisetTile * kMultisetTile) & kWholeTile;
}

// One lane, after kMultisetLongWalk full windows. False: another hash has the entry.
__device__ inline bool insert_far(const RowMultiset& table, uint64_t hash,
                                  unsigned long long element) {
  LongSequence& entry = table.long_sequences[hash & table.long_mask];
  unsigned long long owner = *static_cast<volatile unsigned long long*>(&entry.hash);
  if (owner == kNobody) owner = atomicCAS(&entry.hash, kNobody, hash);
  if ((owner != kNobody && owner != hash) || hash == kNobody) return false;
  for (;;) {
    unsigned long long const taken = atomicAdd(&entry.taken, 1ULL) + 1;
    uint64_t const walked = kMultisetLongWalk + taken / kMultisetTile;
    uint64_t const window = table.window_of(hash) + walked * table.step_of(hash);
    unsigned long long* const slot =
        table.slots + (window & table.window_mask) * kMultisetTile + taken % kMultisetTile;
    if (atomicCAS(slot, kFreeSlot, element) == kFreeSlot) return true;
  }
}

// By whole warps: each tile inserts one row, where `pending`. Lanes of a tile agree on hash, row
// and pending.
__device__ inline void insert_rows(const RowMultiset& table, uint64_t hash, uint32_t row,
                                   bool pending) {
  uint32_t const tile_lane = threadIdx.x % kMultisetTile;
  unsigned long long const element = hash << 32 | row;
  uint64_t window = table.window_of(hash);
  unsigned long long* slot = table.slot_of(window);
  auto const look = [&] { return *static_cast<volatile unsigned long long*>(slot); };
  unsigned long long found = pending ? look() : kFreeSlot;
  uint32_t walked = 0;
  bool placed = false;
  while (__any_sync(kWarp, pending)) {
    unsigned const free = tile_bits(__ballot_sync(kWarp, found == kFreeSlot));
    if (pending && free != 0 && tile_lane == static_cast<uint32_t>(__ffs(free)) - 1) {
      found = atomicCAS(slot, kFreeSlot, element);
      placed = found == kFreeSlot;
    }
    if (pending && free == 0) {
      window += table.step_of(hash);
      slot = table.slot_of(window);
      found = look();
      ++walked;
      if (walked == kMultisetLongWalk && tile_lane == 0) placed = insert_far(table, hash, element);
    }
    if (tile_bits(__ballot_sync(kWarp, placed)) != 0) pending = false;
  }
}

template <typename Keys>
__global__ void __launch_bounds__(kStreamThreads)
    build_row_multiset_kernel(RowMultiset table, KeyedRows<Keys> build) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = tile + item * kStreamThreads + threadIdx.x;
    bool const active = position < build.rows;
    uint32_t const row = active ? build.row_at(position) : 0;
    uint64_t const hash = active ? build.keys.hash(row) : 0;
    // Each lane read a row of its own; now the tile inserts its rows one after the other.
    for (int i = 0; i < kMultisetTile; ++i) {
      insert_rows(table, __shfl_sync(kWarp, hash, i, kMultisetTile),
                  __shfl_sync(kWarp, row, i, kMultisetTile),
                  __shfl_sync(kWarp, active, i, kMultisetTile));
    }
  }
}

template <typename Keys>
struct ProbeMultiset {
  RowMultiset table;
  Keys build_keys;
  KeyedRows<Keys> probe;

  __host__ __device__ uint64_t units() const {
    return (uint64_t{probe.rows} + kMultisetUnitRows - 1) / kMultisetUnitRows;
  }
  __device__ bool is_match(unsigned long long found, uint64_t hash, uint32_t row) const {
    if (found == kFreeSlot || tag_of_slot(found) != static_cast<uint32_t>(hash)) return false;
    if constexpr (Keys::kVerified) return build_keys.equals(row_of_slot(found), probe.keys, row);
    return true;
  }
};

// A row of each tile, to be looked up.
struct TileProbe {
  uint64_t hash;
  uint32_t row;
  bool pending;              // whether there is a row; then, whether its sequence goes on
  unsigned long long found;  // the lane's slot of the window at hand
};

// By whole warps: the windows of each tile's row, up to the first that has a free slot,
// kMultisetLongWalk at most. Calls visit(is_match, build_row, probe_row) for each, which answers
// whether to go on.
template <typename Keys, typename Visit>
__device__ bool walk_by_tiles(const ProbeMultiset<Keys>& args, TileProbe& probe,
                              const Visit& visit) {
  uint64_t window = args.table.window_of(probe.hash);
  for (uint32_t walked = 0;;) {
    unsigned long long const found = probe.found;
    bool const is_match = probe.pending && args.is_match(found, probe.hash, probe.row);
    if (!visit(is_match, row_of_slot(found), probe.row)) return false;
    if (tile_bits(__ballot_sync(kWarp, found != kFreeSlot)) != kWholeTile) probe.pending = false;
    if (++walked == kMultisetLongWalk || !__any_sync(kWarp, probe.pending)) return true;
    window += args.table.step_of(probe.hash);
    if (probe.pending) probe.found = args.table.read(window);
  }
}

// By whole warps: the windows of one row after those, a window a tile at a time. All lanes agree on
// hash and row.
template <typename Keys, typename Visit>
__device__ bool walk_by_warp(const ProbeMultiset<Keys>& args, uint64_t hash, uint32_t row,
                             const Visit& visit) {
  uint32_t const tile = threadIdx.x % 32 / kMultisetTile;
  for (uint64_t walked = kMultisetLongWalk;; walked += 32 / kMultisetTile) {
    uint64_t const window = args.table.window_of(hash) + (walked + tile) * args.table.step_of(hash);
    unsigned long long const found = args.table.read(window);
    unsigned const free = __ballot_sync(kWarp, found == kFreeSlot);
    // The sequence ends with its first window that has a free slot.
    bool const is_reached =
        free == 0 || tile <= static_cast<uint32_t>(__ffs(free) - 1) / kMultisetTile;
    if (!visit(is_reached && args.is_match(found, hash, row), row_of_slot(found), row))
      return false;
    if (free != 0) return true;
  }
}

// A warp takes a unit in batches of 32 rows.
constexpr uint32_t kMultisetUnitBatches = kMultisetUnitRows / 32;

// By whole warps: the unit's batches from first_batch on. Calls visit(is_match, build_row,
// probe_row, batch, visits) with the number of earlier visits in the batch; it answers whether to
// go on. The order of the visits is always the same.
template <typename Keys, typename Visit>
__device__ bool walk_unit(const ProbeMultiset<Keys>& args, uint64_t unit, uint32_t first_batch,
                          const Visit& visit) {
  for (uint32_t batch = first_batch; batch < kMultisetUnitBatches; ++batch) {
    uint64_t const begin = unit * kMultisetUnitRows + batch * 32;
    if (begin >= args.probe.rows) break;
    uint64_t const position = begin + threadIdx.x % 32;
    bool const active = position < args.probe.rows;
    uint32_t const row = active ? args.probe.row_at(position) : 0;
    uint64_t const hash = active ? args.probe.keys.hash(row) : 0;
    uint32_t visits = 0;
    auto const visit_window = [&](bool is_match, uint32_t build_row, uint32_t probe_row) {
      return visit(is_match, build_row, probe_row, batch, visits++);
    };
    // Each lane read a row of its own. The first windows of all the tile's rows are asked for
    // before the first is looked at.
    unsigned long long first_slots[kMultisetTile];
#pragma unroll
    for (int i = 0; i < kMultisetTile; ++i) {
      uint64_t const of_tile = __shfl_sync(kWarp, hash, i, kMultisetTile);
      first_slots[i] = args.table.read(args.table.window_of(of_tile));
    }
    bool is_long = false;  // of the lane's own row
#pragma unroll
    for (int i = 0; i < kMultisetTile; ++i) {
      TileProbe probe;
      probe.hash = __shfl_sync(kWarp, hash, i, kMultisetTile);
      probe.row = __shfl_sync(kWarp, row, i, kMultisetTile);
      probe.pending = __shfl_sync(kWarp, active, i, kMultisetTile);
      probe.found = first_slots[i];
      if (!walk_by_tiles(args, probe, visit_window)) return false;
      if (threadIdx.x % kMultisetTile == i) is_long = probe.pending;
    }
    for (unsigned rest = __ballot_sync(kWarp, is_long); rest != 0; rest &= rest - 1) {
      int const lane = __ffs(rest) - 1;
      uint64_t const long_hash = __shfl_sync(kWarp, hash, lane);
      uint32_t const long_row = __shfl_sync(kWarp, row, lane);
      if (!walk_by_warp(args, long_hash, long_row, visit_window)) return false;
    }
  }
  return true;
}

template <typename Keys>
struct RetrieveRows {
  ProbeMultiset<Keys> matches;
  PairSink sink;
  // [warps of the grid] unit: batches before the one to go on with, those of earlier units counted;
  // batch: visits of that batch whose pairs are written.
  ResumePoint* resume;
};

template <typename Keys>
__global__ void __launch_bounds__(kMultisetThreads, multiset_blocks_per_sm(Keys::kVerified))
    retrieve_row_multiset_kernel(RetrieveRows<Keys> args) {
  __shared__ WarpBuffer::Shared shared[kMultisetThreads / 32];
  WarpBuffer buffer(args.sink, shared[threadIdx.x / 32]);
  bool const is_first_lane = threadIdx.x % 32 == 0;
  ResumePoint& resume = args.resume[(blockIdx.x * kMultisetThreads + threadIdx.x) / 32];
  uint64_t const units = args.matches.units();

  unsigned long long batches = resume.unit;
  uint32_t written_visits = resume.batch;
  for (;;) {
    if (batches == kNoUnit) {
      batches = warp_take(args.sink.taken) * kMultisetUnitBatches;
      written_visits = 0;
    }
    uint64_t const unit = batches / kMultisetUnitBatches;
    if (unit >= units) break;
    auto const first_batch = static_cast<uint32_t>(batches % kMultisetUnitBatches);
    uint32_t const first_visit = written_visits;
    uint32_t written_batch = first_batch;  // where the last spill ended
    auto const visit = [&](bool is_match, uint32_t build_row, uint32_t probe_row, uint32_t batch,
                           uint32_t visits) {
      // Written before the stop: the windows are walked again, to see which rows go on.
      if (batch == first_batch && visits < first_visit) return true;
      buffer.push(is_match, build_row, probe_row);
      if (buffer.has_room()) return true;
      if (!buffer.spill()) return false;
      written_batch = batch;
      written_visits = visits + 1;
      return true;
    };
    if (!walk_unit(args.matches, unit, first_batch, visit) || !buffer.spill()) {
      if (is_first_lane) {
        resume = {unit * kMultisetUnitBatches + written_batch, written_visits, 0};
      }
      return;
    }
    batches = kNoUnit;
  }
  // Nothing is left: a later launch must not take this warp's old point up again.
  if (is_first_lane) resume = {units * kMultisetUnitBatches, 0, 0};
}

}  // namespace gpujoin::kernels
