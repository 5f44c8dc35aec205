// table_columns.cuh: probe rows look their keys up in a table of the whole build side and write the
// output columns
//
// Source   ours: the probe of the non-partitioned join (pair_slots.cuh, row_slots.cuh), or of dense
//          keys (direct_table.cuh), whose rows are written at once instead of a pair by which they
//          are gathered later
// In       probe_keys[probe_rows]; a finder: for each key its build row or place, and whether there
//          is one; columns of both sides
// Out      target[] of each column, in chunks; rows nearly in the order of the probe side. Or those
//          of the rows without a match
// Needs    unique build keys: with duplicates nothing is written, and the host takes another way;
//          or a table of which any row of a key will do, and no build column; counters->taken 0
// Launch   as many blocks of kThreadsOf<Finder> as are resident
// Moves    |Key| and the probe side's columns a row, streamed; a random sector a lookup, and a
//          build column;
//          the widths of an output row
//          (traffic::table_columns)
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block_sync.cuh"
#include "kernels/match/batch_turns.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_places.cuh"
#include "kernels/match/lane_rows.cuh"
#include "kernels/match/work_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Of a block that asks the finder: a multiprocessor has as many warps whatever they are.
template <typename Finder>
constexpr int kThreadsOf = [] {
  if constexpr (requires { Finder::kThreads; }) return Finder::kThreads;
  return kTableThreads;
}();
template <typename Finder>
constexpr int kBlocksOf = kTableBlocksPerSm* kTableThreads / kThreadsOf<Finder>;

// Whether all that is asked for stays in L2 or nearer to the end, if it is asked as a whole.
template <typename Finder>
constexpr bool kStaysInCache = [] {
  if constexpr (requires { Finder::kStaysInCache; }) return Finder::kStaysInCache;
  return false;
}();

// Probe rows of a lane at a time.
template <int kWidth, typename Finder>
constexpr int kItemsOf = kWidth == 4 && !Finder::kFewAtOnce ? kTableItems : kTableItemsWide;

// All lanes of a warp: slots side by side for the rows that there are, and how many these are.
template <typename Rows>
__device__ __forceinline__ uint32_t give_slots(const bool (&are_there)[Rows::kItems], Rows& rows) {
  uint32_t const below = (1U << threadIdx.x % 32) - 1;
  uint32_t slots = 0;
#pragma unroll
  for (int item = 0; item < Rows::kItems; ++item) {
    uint32_t const lanes = __ballot_sync(0xffffffffU, are_there[item]);
    rows.slots[item] = are_there[item] ? slots + __popc(lanes & below) : kNoSlot;
    slots += __popc(lanes);
  }
  return slots;
}

// All lanes of a warp: kItems * 32 probe rows from `first`, their slots 0 to *count side by side.
template <int kItems, typename Finder>
__device__ __forceinline__ void find_table_batch(const TableJoin<typename Finder::Key>& join,
                                                 const Finder& finder, uint32_t slice,
                                                 uint64_t first,
                                                 LaneRows<typename Finder::Key, kItems>& rows,
                                                 uint32_t* count) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const left =
      first < join.probe_rows ? join.probe_rows - static_cast<uint32_t>(first) : 0;
  auto const* const keys = join.probe_keys + first + lane;
  bool are_rows[kItems];
  bool found[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    are_rows[item] = 32 * item + lane < left;
    rows.probe[item] = static_cast<uint32_t>(first) + 32 * item + lane;
    if constexpr (requires { finder.takes(first); }) {
      are_rows[item] = are_rows[item] && finder.takes(rows.probe[item]);
    }
    rows.keys[item] = are_rows[item] ? __ldcs(&keys[32 * item]) : 0;
  }
  // Keys are not waited for by their bits.
  if (join.probe_present.bits != nullptr) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      are_rows[item] = are_rows[item] && is_valid(join.probe_present, rows.probe[item]);
    }
  }
  finder(rows.keys, are_rows, slice, rows.build, found);
  if (join.unmatched) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      found[item] = !found[item] && 32 * item + lane < left;
    }
  }
  bool all_found = true;
#pragma unroll
  for (int item = 0; item < kItems; ++item) all_found = all_found && found[item];
  if (!__all_sync(0xffffffffU, all_found)) {
    *count = give_slots(found, rows);
    return;
  }
  *count = 32 * kItems;
#pragma unroll
  for (int item = 0; item < kItems; ++item) rows.slots[item] = 32 * item + lane;
}

// A build row's columns side by side: one random access instead of one for each. Row: uint32_t,
// uint2 or uint4, or NoRow.
struct NoRow {};

template <typename Row>
__device__ __forceinline__ uint32_t word_of(const Row& row, int32_t word) {
  if constexpr (sizeof(Row) == 4) {
    return row;
  } else {
    uint32_t value = word == 0 ? row.x : row.y;
    if constexpr (sizeof(Row) == 16) {
      if (word == 2) value = row.z;
      if (word == 3) value = row.w;
    }
    return value;
  }
}

// value_of(item): of each row that is written.
template <typename Value, typename Rows, typename ValueOf>
__device__ __forceinline__ void write_packed_values(const CarriedColumn& column, const Rows& rows,
                                                    ValueOf value_of) {
  auto* const first = rows.first_place(static_cast<Value*>(column.target));
#pragma unroll
  for (int item = 0; item < Rows::kItems; ++item) {
    if (!rows.is_written(item)) continue;
    write_value<true>(rows.place(first, item), static_cast<Value>(value_of(item)));
  }
}

template <int kWidth, typename Row, typename Join, typename Rows>
__device__ __forceinline__ void write_packed_rows(const Join& join, const Rows& rows) {
  Row packed[Rows::kItems];
#pragma unroll
  for (int item = 0; item < Rows::kItems; ++item) {
    if (rows.is_written(item)) {
      packed[item] = static_cast<const Row*>(join.packed_rows)[rows.build[item]];
    }
  }
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    CarriedColumn const& column = join.columns[i];
    if (column.from != CarriedFrom::kBuild) {
      write_carried_column<kWidth>(join, column, rows);
      continue;
    }
    int32_t const word = join.packed_bytes[i] / 4;
    auto const word_of_item = [&](int item) { return word_of(packed[item], word); };
    if (kWidth == 4 || column.width == 4) {
      write_packed_values<uint32_t>(column, rows, word_of_item);
      continue;
    }
    if (column.width == 8) {
      write_packed_values<uint64_t>(column, rows, [&](int item) {
        return uint64_t{word_of(packed[item], word + 1)} << 32 | word_of_item(item);
      });
      continue;
    }
    int32_t const shift = join.packed_bytes[i] % 4 * 8;
    auto const part_of_item = [&](int item) { return word_of_item(item) >> shift; };
    if (column.width == 2) {
      write_packed_values<uint16_t>(column, rows, part_of_item);
    } else {
      write_packed_values<uint8_t>(column, rows, part_of_item);
    }
  }
}

// Found rows of a warp, until a batch is full. Then every write is of whole sectors, and rows that
// match nothing cost their lookup only.
template <typename Key, int kItems>
struct TableBuffer {
  static constexpr uint32_t kPlaces = 2 * 32 * kItems;
  Key keys[kPlaces];
  uint32_t build[kPlaces];
  uint32_t probe[kPlaces];

  // Places go round: those of the rows are from `end` on.
  __device__ void append(const LaneRows<Key, kItems>& rows, uint32_t end) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (rows.slots[item] == kNoSlot) continue;
      uint32_t const place = (end + rows.slots[item]) % kPlaces;
      keys[place] = rows.keys[item];
      build[place] = rows.build[item];
      probe[place] = rows.probe[item];
    }
    __syncwarp();
  }
  __device__ void take(uint32_t start, uint32_t count, LaneRows<Key, kItems>& rows) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const slot = 32 * item + threadIdx.x % 32;
      uint32_t const place = (start + slot) % kPlaces;
      rows.slots[item] = slot < count ? slot : kNoSlot;
      rows.keys[item] = keys[place];
      rows.build[item] = build[place];
      rows.probe[item] = probe[place];
    }
    __syncwarp();
  }
};

template <int kWidth, typename Row, typename Rows>
__device__ __forceinline__ void write_table_columns(const TableJoin<typename Rows::Key>& join,
                                                    const Rows& rows) {
  if constexpr (std::is_same_v<Row, NoRow>) {
    write_carried_rows<kWidth>(join, rows);
  } else {
    write_packed_rows<kWidth, Row>(join, rows);
  }
}

// Of a batch of neighbouring probe rows: where all of them are written nothing is asked of each.
template <int kWidth, typename Row, typename Rows>
__device__ __forceinline__ void write_neighbours(const TableJoin<typename Rows::Key>& join,
                                                 const Rows& rows, uint32_t written) {
  if (written == 32 * Rows::kItems) {
    write_table_columns<kWidth, Row>(join, FullRows<Rows>(rows));
  } else {
    write_table_columns<kWidth, Row>(join, rows);
  }
}

// All lanes of a warp: rows that have the slots 0 to `count` between them. kAreNeighbours: they are
// some of a batch of neighbouring probe rows.
template <int kWidth, bool kAreNeighbours, typename Row, typename Rows>
__device__ __forceinline__ void write_table_rows(const TableJoin<typename Rows::Key>& join,
                                                 CarriedPlaces::Shared& places, uint32_t count,
                                                 Rows& rows) {
#pragma unroll 1
  for (uint32_t written = 0; written != count; written += rows.slot_count) {
    rows.first_slot = written;
    rows.base = CarriedPlaces::take(join, places, count - written, &rows.slot_count);
    // Beyond the room rows are counted only.
    if (rows.base >= join.capacity) continue;
    if constexpr (kAreNeighbours) {
      write_neighbours<kWidth, Row>(join, rows, rows.slot_count);
    } else {
      write_table_columns<kWidth, Row>(join, rows);
    }
  }
}

// Finds the warp's batches of the probe rows, slice by slice, and calls function(first row, rows
// found) for each. Blocks go through the slices side by side, nearly: each is in L2 while it is
// asked.
template <int kItems, typename Finder, typename Function>
__device__ __forceinline__ void each_table_batch(const TableJoin<typename Finder::Key>& join,
                                                 const Finder& finder,
                                                 LaneRows<typename Finder::Key, kItems>& rows,
                                                 Function function) {
  constexpr uint32_t kBatch = 32 * kItems;
  constexpr uint32_t kThreads = kThreadsOf<Finder>;
  uint64_t const warp = (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  uint64_t const stride = uint64_t{gridDim.x} * (kThreads / 32) * kBatch;
#pragma unroll 1
  for (uint32_t slice = 0; slice < finder.slices; ++slice) {
#pragma unroll 1
    for (uint64_t first = warp * kBatch; first < join.probe_rows; first += stride) {
      uint32_t count = 0;
      find_table_batch(join, finder, slice, first, rows, &count);
      function(first, count);
    }
  }
}

// The same with all blocks' batches nearly in the order of the rows.
template <int kItems, typename Finder, typename Function>
__device__ __forceinline__ void each_batch_in_turn(const TableJoin<typename Finder::Key>& join,
                                                   const Finder& finder,
                                                   LaneRows<typename Finder::Key, kItems>& rows,
                                                   Function function) {
  constexpr uint32_t kBatch = 32 * kItems;
  __shared__ BatchTurns turns;
  uint32_t const batches = parts_of(join.probe_rows, kBatch);
  if (threadIdx.x == 0) turns.start(uint64_t{batches} * finder.slices);
  block_sync();
  uint32_t slice = 0;
  uint64_t before = 0;
#pragma unroll 1
  while (true) {
    uint64_t batch = 0;
    if (threadIdx.x % 32 == 0) batch = turns.draw(&join.counters->taken);
    batch = __shfl_sync(0xffffffffU, batch, 0);
    if constexpr (requires { Finder::kOneSlice; }) {
      if (batch >= batches) return;
    } else {
      while (batch - before >= batches) {
        before += batches;
        if (++slice == finder.slices) return;
      }
    }
    uint64_t const first = (batch - before) * kBatch;
    uint32_t count = 0;
    find_table_batch(join, finder, slice, first, rows, &count);
    function(first, count);
  }
}

// kBuffers: few rows of a batch are found, because few match or because the table is asked slice by
// slice. Where nearly all are, it costs more than it saves: 2^27 rows of a table of 2^16 on an H200
// 1.2 ms with and 0.94 without.
template <int kWidth, bool kBuffers, typename Row, typename Finder>
__global__ void __launch_bounds__(kThreadsOf<Finder>, kBlocksOf<Finder>)
    table_columns_kernel(const __grid_constant__ TableJoin<typename Finder::Key> join,
                         const __grid_constant__ Finder finder) {
  using Key = typename Finder::Key;
  constexpr int kItems = kItemsOf<kWidth, Finder>;
  constexpr uint32_t kBatch = 32 * kItems;
  __shared__ CarriedPlaces::Shared places;
  __shared__ std::conditional_t<kBuffers, TableBuffer<Key, kItems>, NoRow>
      buffers[kThreadsOf<Finder> / 32];
  if (join.has_duplicates != nullptr && *join.has_duplicates != 0) return;
  if constexpr (requires { finder.start(); }) finder.start();
  if (threadIdx.x == 0) CarriedPlaces::start(join, places);
  block_sync();
  auto& buffer = buffers[threadIdx.x / 32];
  uint32_t start = 0;
  uint32_t buffered = 0;
  LaneRows<Key, kItems> rows;
  auto const write = [&](uint64_t, uint32_t count) {
    if constexpr (kBuffers) {
      if (count == 0) return;
      buffer.append(rows, start + buffered);
      buffered += count;
      if (buffered < kBatch) return;
      buffer.take(start, kBatch, rows);
      start += kBatch;
      buffered -= kBatch;
      count = kBatch;
    }
    write_table_rows<kWidth, !kBuffers, Row>(join, places, count, rows);
  };
  // There is nothing to lose where dense keys are asked in L2. H200, pairs of 2^22 x 2^27 rows took
  // 2 % more in turns; 1.3*10^5 x 9*10^7 sorted rows of which 2 % match 0.60 ms in turns, 0.45.
  if constexpr (kStaysInCache<Finder>) {
    each_table_batch(join, finder, rows, write);
  } else {
    each_batch_in_turn(join, finder, rows, write);
  }
  if constexpr (kBuffers) {
    buffer.take(start, buffered, rows);
    write_table_rows<kWidth, false, Row>(join, places, buffered, rows);
  }
  block_sync();
  if (threadIdx.x == 0) CarriedPlaces::finish(join, places);
}

}  // namespace gpujoin::kernels
