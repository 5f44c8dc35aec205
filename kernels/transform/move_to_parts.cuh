// move_to_parts.cuh: rows to parts of a table in one pass, whose writes are combined to lines
//
// Source   ours; write combining is that of radix joins on CPUs (Balkesen et al. 2013, section
//          4.2), here in shared memory, by all threads of a multiprocessor together
// In       rows of columns (part_columns.cuh, packed_columns.cuh)
// Out      out[]: of each row of a part its address and its words, parts contiguous and ascending,
//          rows of a part in no order
// Needs    starts, offsets of count_parts.cuh; as many blocks, and tiles of as many rows
// Launch   a block a multiprocessor, of kPartThreads, dependent
// Moves    |Key| and 4 bytes a word in, 4 bytes and as many out
//          (traffic::move_to_parts)
// Shared   a line, or all of it but its last row, a counter and a place a part; an atomic add a row
//
//   a row's slot in its part's line is what its atomic add answers
//   the warp of whoever has the last slot of a line writes it out, when all of the tile have theirs
//   rows beyond the line: of lines that the tile fills go out by themselves, those of the last one
//   to the line when it is empty
//
// A pass that ranks a tile's rows writes runs, of which a tile has as many as there are parts: more
// than 2^9 parts leave them shorter than a sector. A line that stays from tile to tile is written
// when it is full, however many parts there are.
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/match/place_parts.hpp"
#include "kernels/transform/key_steps.hpp"

namespace gpujoin::kernels {

// Columns: where a tile's rows come from.
template <typename Columns>
struct PartMove {
  KeySteps<typename Columns::Key> steps;
  PlaceParts parts;
  Columns columns;
  uint32_t rows;
  const uint32_t* starts;   // [gridDim.x][parts.count + 1], within the part
  const uint32_t* offsets;  // [parts.count + 1]
  uint32_t* out;
};

// kWhole: part_line_rows.
template <typename Columns, bool kWhole>
__global__ void __launch_bounds__(kPartThreads)
    move_to_parts_kernel(const __grid_constant__ PartMove<Columns> move) {
  using Key = typename Columns::Key;
  constexpr int kWords = Columns::kWords;
  constexpr int kItems = Columns::kItems;
  constexpr uint32_t kRowWords = 1 + kWords;
  constexpr uint32_t kLine = part_line_rows(kWords, kWhole);
  constexpr uint32_t kHeld = part_held_rows(kWords, kWhole);
  constexpr uint32_t kHeldWords = kHeld * kRowWords;
  constexpr bool kHoldsAll = kHeld == kLine;
  constexpr uint32_t kLinesAtOnce = part_lines_at_once(kWords, kWhole);
  constexpr uint32_t kTile = kPartThreads * kItems;
  constexpr uint32_t kVectors = kLine * kRowWords / 4;  // of a line
  static_assert(kLine * kRowWords % 8 == 0);
  constexpr uint32_t kInLine = kLine - 1;
  extern __shared__ __align__(16) uint32_t lines[];
  __shared__ typename Columns::Shared shared_columns;
  uint32_t const parts = move.parts.count;
  uint32_t* const slots_taken = lines + parts * kHeldWords;
  // Where a part's line goes: its first row. The first one may begin within a line, and is written
  // from there on.
  uint32_t* const places = slots_taken + parts;
  // Of the warp's full lines the last rows, where lines have no room for them, and the parts.
  constexpr uint32_t kLastRows = kHoldsAll ? 0 : kPartThreads / 32 * kLinesAtOnce;
  uint32_t* const last_rows = places + parts;
  uint32_t* const own_rows = last_rows + threadIdx.x / 32 * kLinesAtOnce * kRowWords;
  auto* const own_lines = reinterpret_cast<uint16_t*>(last_rows + kLastRows * kRowWords) +
                          threadIdx.x / 32 * kLinesAtOnce;
  uint32_t const lane = threadIdx.x % 32;

  let_next_kernel_start();
  await_last_kernel();
  move.columns.start(move.rows, shared_columns);
  for (uint32_t part = threadIdx.x; part < parts; part += kPartThreads) {
    uint32_t const place =
        move.offsets[part] + move.starts[uint64_t{blockIdx.x} * (parts + 1) + part];
    slots_taken[part] = place & kInLine;
    places[part] = place;
  }
  block_sync();

  auto const part_of = [](uint32_t slot) { return slot & 0xffffU; };
  auto const slot_of = [](uint32_t slot) { return slot >> 16; };
  auto const write_row = [&](uint32_t* target, uint32_t address, const uint32_t(&words)[kWords]) {
    if constexpr (kWords == 1) {
      *reinterpret_cast<uint2*>(target) = {address, words[0]};
    } else if constexpr (kWords == 3) {
      *reinterpret_cast<uint4*>(target) = {address, words[0], words[1], words[2]};
    } else {
      target[0] = address;
#pragma unroll
      for (int w = 0; w < kWords; ++w) target[1 + w] = words[w];
    }
  };

  uint64_t const stride = uint64_t{gridDim.x} * kTile;
  uint64_t first = uint64_t{blockIdx.x} * kTile;
  Columns const& columns = move.columns;
  typename Columns::Loaded ahead;
  columns.load(first, move.rows, ahead);
#pragma unroll 1
  for (; first < move.rows; first += stride) {
    uint32_t addresses[kItems];
    uint32_t words[kItems][kWords];
    uint32_t slots[kItems];  // in their part's line << 16 | part
    bool are_rows[kItems];
    uint32_t const are_present = columns.finish(first, move.rows, shared_columns, ahead, words);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      Key const place = move.steps.place_of(ahead.keys[i]);
      are_rows[i] = first + Columns::row_of(i) < move.rows && (are_present >> i & 1) != 0 &&
                    place <= move.parts.last_place;
      uint32_t part;
      addresses[i] = move.parts.split(static_cast<uint32_t>(place), part);
      slots[i] = part;
    }
    columns.load(first + stride, move.rows, ahead);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!are_rows[i]) {
        slots[i] = 0;  // those of no part are as if they were in their line
        continue;
      }
      uint32_t const part = slots[i];
      uint32_t const slot = atomicAdd(&slots_taken[part], 1U);
      if (slot < kHeld) {
        write_row(&lines[part * kHeldWords + slot * kRowWords], addresses[i], words[i]);
      }
      slots[i] |= slot << 16;
    }
    block_sync();
    uint32_t ends[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      ends[i] = slot_of(slots[i]) >= kInLine ? slots_taken[part_of(slots[i])] : 0;
    }
    block_sync();
    for (uint32_t first_line = 0;; first_line += kLinesAtOnce) {
      uint32_t full = 0;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        bool const fills = slot_of(slots[i]) == kInLine;
        uint32_t const lanes = __ballot_sync(0xffffffffU, fills);
        uint32_t const line = full + __popc(lanes & ((1U << lane) - 1)) - first_line;
        full += __popc(lanes);
        if (!fills || (!kHoldsAll && line >= kLinesAtOnce)) continue;
        own_lines[line] = static_cast<uint16_t>(part_of(slots[i]));
        if constexpr (!kHoldsAll) write_row(own_rows + line * kRowWords, addresses[i], words[i]);
        slots_taken[part_of(slots[i])] = ends[i] & kInLine;
      }
      __syncwarp();
      uint32_t const now = kHoldsAll ? full : min(full - first_line, kLinesAtOnce);
      for (uint32_t i = lane; i < now * kVectors; i += 32) {
        uint32_t const part = own_lines[i / kVectors];
        uint32_t const vector = i % kVectors;
        uint32_t const place = places[part];
        const uint32_t* const line = lines + part * kHeldWords;
        uint32_t values[4];
        if constexpr (kHoldsAll) {
          uint4 const value = reinterpret_cast<const uint4*>(line)[vector];
          values[0] = value.x;
          values[1] = value.y;
          values[2] = value.z;
          values[3] = value.w;
        } else {
          const uint32_t* const last_row = own_rows + i / kVectors * kRowWords;
#pragma unroll
          for (uint32_t k = 0; k < 4; ++k) {
            uint32_t const word = 4 * vector + k;
            values[k] = word < kHeldWords ? line[word] : last_row[word - kHeldWords];
          }
        }
        uint32_t* const target = move.out + uint64_t{place & ~kInLine} * kRowWords + 4 * vector;
        uint32_t const skipped = (place & kInLine) * kRowWords;
        if (skipped <= 4 * vector) {
          *reinterpret_cast<uint4*>(target) = {values[0], values[1], values[2], values[3]};
          continue;
        }
#pragma unroll
        for (uint32_t k = 0; k < 4; ++k) {
          if (4 * vector + k >= skipped) target[k] = values[k];
        }
      }
      if (kHoldsAll || full - first_line <= kLinesAtOnce) break;
      __syncwarp();
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      bool const goes_out = slot_of(slots[i]) >= kLine && slot_of(slots[i]) < (ends[i] & ~kInLine);
      if (!goes_out) continue;
      uint64_t const place = (places[part_of(slots[i])] & ~kInLine) + slot_of(slots[i]);
      write_row(move.out + place * kRowWords, addresses[i], words[i]);
    }
    block_sync();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      uint32_t const part = part_of(slots[i]);
      if (slot_of(slots[i]) >= kLine && slot_of(slots[i]) >= (ends[i] & ~kInLine)) {
        write_row(&lines[part * kHeldWords + (slot_of(slots[i]) & kInLine) * kRowWords],
                  addresses[i], words[i]);
      }
      if (slot_of(slots[i]) == kInLine)
        places[part] = (places[part] & ~kInLine) + (ends[i] & ~kInLine);
    }
  }
  block_sync();
  // What is left of each line, by lanes side by side.
  constexpr uint32_t kLanes = 8;
  for (uint32_t part = threadIdx.x / kLanes; part < parts; part += kPartThreads / kLanes) {
    uint32_t const place = places[part];
    uint32_t const* const line = lines + part * kHeldWords;
    uint32_t* const target = move.out + uint64_t{place & ~kInLine} * kRowWords;
    uint32_t const end = slots_taken[part] * kRowWords;
    for (uint32_t k = (place & kInLine) * kRowWords + threadIdx.x % kLanes; k < end; k += kLanes) {
      target[k] = line[k];
    }
  }
}

}  // namespace gpujoin::kernels
