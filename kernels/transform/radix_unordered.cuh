// radix_unordered.cuh: one pass of a radix partition that moves the key and every column with one
// rank
//
// Source   ours; the block's rank by shared atomics is Rui & Tu's 3.2.1, the offsets from one
//          histogram are Wu et al.'s. Differs from one-sweep: rows of a partition come in any
//          order, so no tile waits for another; from one sort a column (Wu et al. 2024, Algorithm
//          1): ranks and places are found once for all columns
// In       keys, columns of 1, 2, 4, 8, 16 bytes; the first pass mixes the keys, leaves out rows
//          without a bit among those that are present, puts a value in the place of a column's
//          NULLs, and makes words of several narrow columns
// Out      keys (mixed) and columns, partitions contiguous and ascending, rows of a partition in no
//          order; what is seen of a column with NULLs
// Needs    cursors[p], the next free place of partition p
// Launch   a block a tile, of the shape's threads, dependent
// Moves    2 * (|key| + the columns' widths) a row (traffic::radix_unordered_pass)
// Shared   two tiles of one column, 2.5 bytes a slot, 4 a digit; one atomic add a row
//
//   count digits in shared memory: a row's rank is what its atomic add answers
//   one global atomic add a digit reserves the tile's places
//   write each column in the order of slots, neighbours to neighbours, while the next column is on
//   its way to shared memory
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/load_column.cuh"
#include "kernels/packed_words.hpp"
#include "kernels/stand_in.cuh"
#include "kernels/transform/lane_bits.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/transform/pack_words.cuh"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

struct MovedColumn {
  const void* in;  // null: row numbers, or parts
  void* out;
  int32_t width;
  ValidityBits validity;  // of the first pass: rows without a bit get stand_in
  uint64_t stand_in;
  uint32_t* seen;               // zeroed: what of it is seen
  WordParts<const void> parts;  // of the first pass: what its words are made of; count 0: `in`
};

struct alignas(16) UnorderedTile {
  uint32_t begin;    // first row that is loaded
  uint32_t skipped;  // so many rows after it belong to the partition before
  uint32_t end;      // of the rows, counted from begin
  uint32_t segment;  // partition of the pass before
};

template <typename Key>
struct UnorderedPass {
  const Key* keys;
  Key* keys_out;
  uint32_t rows;
  int32_t shift;  // of the digit in a mixed key
  int32_t bits;
  bool mixes;                  // the first pass
  ValidityBits present;        // of the first pass: rows without a bit are left out
  const UnorderedTile* tiles;  // [gridDim.x]; null: all rows are one segment
  uint32_t* cursors;           // [segments << bits]
  int32_t column_count;
  MovedColumn columns[kMovedColumns];
};

// One more row of each of a lane's digits; all lanes of a warp. Where many of them have the digit
// that a lane has first, they add theirs at once: skew would make them wait for each other. A digit
// of a share s is found at once with probability s, and without skew it is one look for kRows rows.
template <int kRows>
__device__ __forceinline__ void rank_rows(uint32_t* counts, const uint32_t (&digits)[kRows],
                                          int asked_lane, uint32_t (&ranks)[kRows]) {
  constexpr uint32_t kAll = 0xffffffffU;
  constexpr int kMany = 6;
  uint32_t const likely = __shfl_sync(kAll, digits[0], asked_lane);
  if (__popc(__ballot_sync(kAll, digits[0] == likely)) < kMany) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) ranks[i] = atomicAdd(&counts[digits[i]], 1U);
    return;
  }
  int const lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    bool const is_likely = digits[i] == likely;
    uint32_t const same = __ballot_sync(kAll, is_likely);
    int const leader = __ffs(static_cast<int>(same)) - 1;
    uint32_t counted = 0;
    if (!is_likely || lane == leader) {
      counted = atomicAdd(&counts[digits[i]], is_likely ? __popc(same) : 1U);
    }
    uint32_t const first = __shfl_sync(kAll, counted, leader);
    ranks[i] = is_likely ? first + __popc(same & ((1U << lane) - 1)) : counted;
  }
}

// Threads of a block, rows of each, vectors of each that its rows of the widest column are, and
// blocks of a multiprocessor.
template <int kBlockThreads, int kThreadItems, int kThreadVectors, int kResidentBlocks>
struct UnorderedShape {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kItems = kThreadItems;
  static constexpr int kVectors = kThreadVectors;
  static constexpr int kBlocks = kResidentBlocks;
  static constexpr int kRankedRows = kItems % 4 == 0 ? 4 : kItems % 3 == 0 ? 3 : 2;  // at a time
  static constexpr uint32_t kSlotBatch = 4;  // of a thread at a time
  static constexpr uint32_t kRows = kThreads * kItems;
  static constexpr uint32_t kStageBytes = kThreads * kVectors * 16;
};

// Slots of a tile, in whole batches. Those of a digit begin where its places do within a sector, so
// that a warp's write ends where a sector of the output ends: L2 takes parts of sectors at 50e9 a
// second on an H200, which is what a pass without this is bound by.
constexpr uint32_t kSectorRows = 8;  // of 4 bytes
template <typename Shape>
__host__ __device__ constexpr uint32_t unordered_slots(int32_t bits) {
  constexpr uint32_t kBatch = Shape::kThreads * Shape::kSlotBatch;
  return (Shape::kRows + (2 * (kSectorRows - 1) << bits) + kBatch - 1) / kBatch * kBatch;
}
// A number for each digit and one for rows of none, in whole vectors.
__host__ __device__ constexpr uint32_t unordered_counts(int32_t bits) {
  return ((1U << bits) + 4) / 4 * 4;
}
// Shared memory of a pass: two stages, the counts, a row for each slot, and a place for each
// sector.
template <typename Shape>
__host__ __device__ constexpr uint32_t unordered_shared_bytes(int32_t bits) {
  uint32_t const slots = unordered_slots<Shape>(bits);
  return 2 * Shape::kStageBytes + unordered_counts(bits) * 4 + slots * 2 + slots / kSectorRows * 4;
}

template <typename Key, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    radix_unordered_kernel(const __grid_constant__ UnorderedPass<Key> pass) {
  constexpr uint32_t kRows = Shape::kRows;
  constexpr int kItems = Shape::kItems;
  constexpr int kThreads = Shape::kThreads;
  constexpr uint32_t kBatch = Shape::kSlotBatch;
  constexpr int kRankedRows = Shape::kRankedRows;
  using Scan = cub::BlockScan<uint32_t, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage scan_storage;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  uint32_t const digits = 1U << pass.bits;
  uint32_t const most_slots = unordered_slots<Shape>(pass.bits);
  auto const stage_of = [](int32_t column) {  // keys are column -1
    return dynamic_shared + ((column + 1) % 2) * Shape::kStageBytes;
  };
  auto* const counts = reinterpret_cast<uint32_t*>(dynamic_shared + 2 * Shape::kStageBytes);
  auto* const rows_of_slots = reinterpret_cast<uint16_t*>(counts + unordered_counts(pass.bits));
  // The place of a slot, less the slot, is the same for all of a digit; by sectors it is found in
  // one step.
  auto* const places_of_sectors = reinterpret_cast<uint32_t*>(rows_of_slots + most_slots);

  let_next_kernel_start();
  await_last_kernel();
  UnorderedTile tile;
  if (pass.tiles != nullptr) {
    tile = pass.tiles[blockIdx.x];
    if (tile.end == 0) return;
  } else {
    uint32_t const begin = blockIdx.x * kRows;
    tile = {begin, 0, min(kRows, pass.rows - begin), 0};
  }
  auto const load = [&](int32_t column) {
    if (column < pass.column_count && pass.columns[column].parts.count != 0) {
      load_parts<Shape>(stage_of(column), pass.columns[column].parts, tile.begin, tile.end);
    } else if (column < pass.column_count && pass.columns[column].in != nullptr) {
      with_value_type(pass.columns[column].width, [&](auto zero) {
        using Value = decltype(zero);
        load_column<kThreads, Shape::kVectors>(
            reinterpret_cast<Value*>(stage_of(column)),
            static_cast<const Value*>(pass.columns[column].in) + tile.begin, tile.end);
      });
    }
    __pipeline_commit();
  };
  auto* const keys = reinterpret_cast<Key*>(stage_of(-1));
  load_column<kThreads, Shape::kVectors>(keys, pass.keys + tile.begin, tile.end);
  __pipeline_commit();
  load(0);
  // Bits of the thread's rows, asked for before what else is on its way is awaited.
  auto const bits_of_rows = [&](const ValidityBits& validity) {
    return lane_bits<kItems, kThreads>(validity, tile.begin + threadIdx.x / 32 * 32,
                                       tile.begin + tile.end);
  };
  uint32_t present = ~0U;
  if (pass.present.bits != nullptr) present = bits_of_rows(pass.present);
  auto const valid_rows = [&](int32_t column) {
    if (column >= pass.column_count || pass.columns[column].validity.bits == nullptr) return ~0U;
    return bits_of_rows(pass.columns[column].validity);
  };
  uint32_t valid = valid_rows(0);
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i <= digits; i += kThreads) counts[i] = 0;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < most_slots / 8; i += kThreads) {
    reinterpret_cast<uint4*>(rows_of_slots)[i] = {~0U, ~0U, ~0U, ~0U};
  }
  __pipeline_wait_prior(1);
  __syncthreads();

  uint32_t const mask = digits - 1;
  // digit << 16 | rank; by permutes, as the compiler would keep what shifts put together in two
  // registers, and spill.
  uint32_t ranks[kItems];
  static_assert(kUnorderedAlign <= kThreads);  // only a thread's first row can be skipped
  // A bit for each of the thread's rows.
  uint32_t are_rows = 0;
  {
    int const rows_left = static_cast<int>(tile.end) - static_cast<int>(threadIdx.x);
    int const own_rows = rows_left <= 0 ? 0 : min((rows_left - 1) / kThreads + 1, kItems);
    are_rows = (1U << own_rows) - 1;
    if (threadIdx.x < tile.skipped) are_rows &= ~1U;
  }
  static_assert(kItems < 32);
  are_rows &= present;
#pragma unroll
  for (int first = 0; first < kItems; first += kRankedRows) {
    Key row_keys[kRankedRows];
    uint32_t row_digits[kRankedRows];
    uint32_t row_ranks[kRankedRows];
    Key* const own = keys + first * kThreads + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kRankedRows; ++i) row_keys[i] = own[i * kThreads];
    if (pass.mixes) {
#pragma unroll
      for (int i = 0; i < kRankedRows; ++i) own[i * kThreads] = row_keys[i] = mix_key(row_keys[i]);
    }
#pragma unroll
    for (int i = 0; i < kRankedRows; ++i) {
      bool const valid = (are_rows >> (first + i) & 1) != 0;
      row_digits[i] = valid ? static_cast<uint32_t>(row_keys[i] >> pass.shift) & mask : digits;
    }
    rank_rows(counts, row_digits, first * 5 % 32, row_ranks);
#pragma unroll
    for (int i = 0; i < kRankedRows; ++i) {
      ranks[first + i] = __byte_perm(row_ranks[i], row_digits[i], 0x5410);
    }
  }
  __syncthreads();

  if (threadIdx.x == 0) counts[digits] = most_slots;  // of rows of no digit: none of the tile's
  uint32_t slots = 0;
  for (uint32_t base = 0; base < digits; base += kThreads) {
    uint32_t const digit = base + threadIdx.x;
    uint32_t const count = digit < digits ? counts[digit] : 0;
    uint32_t place = 0;
    if (count != 0) place = atomicAdd(&pass.cursors[(tile.segment << pass.bits) + digit], count);
    uint32_t const within = place % kSectorRows;
    uint32_t const sectors = count != 0 ? (within + count + kSectorRows - 1) / kSectorRows : 0;
    uint32_t before = 0;
    uint32_t total = 0;
    Scan(scan_storage).ExclusiveSum(sectors, before, total);
    before += slots / kSectorRows;
    if (digit < digits) {
      uint32_t const first = before * kSectorRows + within;
      counts[digit] = first;
      for (uint32_t i = 0; i < sectors; ++i) places_of_sectors[before + i] = place - first;
    }
    slots += total * kSectorRows;
    __syncthreads();
  }
#pragma unroll
  for (int first = 0; first < kItems; first += kRankedRows) {
    uint32_t row_slots[kRankedRows];
#pragma unroll
    for (int i = 0; i < kRankedRows; ++i) {
      uint32_t const ranked = ranks[first + i];
      row_slots[i] = counts[__byte_perm(ranked, 0, 0x4432)] + __byte_perm(ranked, 0, 0x4410);
    }
#pragma unroll
    for (int i = 0; i < kRankedRows; ++i) {
      if (row_slots[i] >= slots) continue;
      rows_of_slots[row_slots[i]] = static_cast<uint16_t>((first + i) * kThreads + threadIdx.x);
    }
  }
  // All threads, of a column that is in its stage.
  auto const finish_stage = [&](int32_t column) {
    MovedColumn const& moved = pass.columns[column];
    if (moved.parts.count != 0) return pack_words<Shape>(stage_of(column), moved.parts);
    if (moved.validity.bits == nullptr) return;
    uint32_t seen = 0;
    with_stand_in_type(moved.width, [&](auto zero) {
      using Value = decltype(zero);
      auto* const stage = reinterpret_cast<Value*>(stage_of(column));
#pragma unroll 1
      for (uint32_t i = 0; i < kItems; ++i) {
        uint32_t const row = i * kThreads + threadIdx.x;
        if (row >= tile.end) break;
        if ((valid >> i & 1) == 0) {
          stage[row] = stand_in_of<Value>(moved.stand_in);
          seen |= kHasNulls;
        } else if (is_stand_in(stage[row], moved.stand_in)) {
          seen |= kStandInIsTaken;
        }
      }
    });
    note_seen(seen, moved.seen);
    __syncthreads();
  };
  if (pass.column_count == 1) __pipeline_wait_prior(0);
  __syncthreads();

  // Calls each of writes(row of the tile, place) for the thread's slots, which are looked up kBatch
  // at a time: a batch's reads do not wait for each other.
  auto const each_slot = [&](auto... writes) {
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < slots; first += kBatch * kThreads) {
      uint32_t rows[kBatch];
      uint32_t slot_places[kBatch];
#pragma unroll
      for (uint32_t i = 0; i < kBatch; ++i) {
        uint32_t const sector = first / kSectorRows + i * (kThreads / kSectorRows);
        rows[i] = rows_of_slots[first + i * kThreads];
        slot_places[i] = places_of_sectors[sector] + first + i * kThreads;
      }
      auto const write_batch = [&](auto write) {
#pragma unroll
        for (uint32_t i = 0; i < kBatch; ++i) {
          if (rows[i] < kRows) write(rows[i], slot_places[i]);
        }
      };
      (write_batch(writes), ...);
    }
  };
  auto const write_key = [&](uint32_t row, uint32_t place) { pass.keys_out[place] = keys[row]; };
  // Calls function(write), where write(row, place) moves one value of the column.
  auto const with_writer = [&](int32_t column, auto function) {
    MovedColumn const& moved = pass.columns[column];
    if (moved.in == nullptr && moved.parts.count == 0) {
      auto* const out = static_cast<uint32_t*>(moved.out);
      return function([&](uint32_t row, uint32_t place) { out[place] = tile.begin + row; });
    }
    with_value_type(moved.width, [&](auto zero) {
      using Value = decltype(zero);
      // A tile has fewer rows where a column is wide, so that a stage holds it.
      if constexpr (sizeof(Value) * kRows <= Shape::kStageBytes) {
        auto const* const stage = reinterpret_cast<const Value*>(stage_of(column));
        auto* const out = static_cast<Value*>(moved.out);
        function([&](uint32_t row, uint32_t place) { out[place] = stage[row]; });
      }
    });
  };
  // Nothing is left to load beside the keys' way out: a slot is looked up once for both.
  if (pass.column_count == 1) {
    finish_stage(0);
    with_writer(0, [&](auto write_value) { each_slot(write_key, write_value); });
    return;
  }
  each_slot(write_key);
  for (int32_t column = 0; column < pass.column_count; ++column) {
    __syncthreads();  // the other stage was read to the end
    load(column + 1);
    uint32_t const valid_in_next = valid_rows(column + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    finish_stage(column);
    valid = valid_in_next;
    with_writer(column, each_slot);
  }
}

}  // namespace gpujoin::kernels
