// intern_values.cuh: a code of 4 bytes for each value of a column of byte strings: a row of the
// table's side that has it
//
// Source   ours; the table is linear probing, the hash is bytes_hash.hpp's
// In       a column of byte strings of either side, validity as Arrow has it
// Out      codes[rows]   of the table's rows the row that took their value's slot; of other rows
//          that row too, or absent_code where the table's side has no such value; of NULLs 0
// Needs    slots all ones before the first is taken; rows < 2^32 - 1
// Launch   a thread a row, blocks of kStreamThreads; dependent
// Moves    a row's bytes, where they lie, and its code; a random sector for its slot, hardly ever
//          two; where a row with its tag is there, that row's bytes
//
//   slot (16 bytes):  | row 32 | tag 32 |, as bytes_hash.hpp has it | address 48 | bytes 16 |
//
// A slot says where its row's bytes lie: they are not looked up in the column, which would be a
// random sector more. Rows of the table's side, of which any may take it meanwhile, do look there.
// A row's reads wait for each other. What hides it are as many threads as a multiprocessor
// holds, so a thread has one row and few registers. A warp first walks to the slots of all its
// rows, then compares: else rows whose walks are longer would wait for the comparisons of the
// others.
//
// Rows with a value that is there read its slot and never swap: one address takes 0.6e9 atomics a
// second.
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/bytes_hash.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr int kInternBlocksPerSm = kThreadsPerSm / kStreamThreads;

struct InternTable {
  BytesColumn values;
  uint64_t rows;
  BytesHash hash;
  ulonglong2* slots;  // [slot_count]
  uint64_t slot_count;
};

// Where a value lies, in a slot. Those that are longer than 16 bits say are looked up.
constexpr uint64_t kLongValue = 0xffff;
__device__ __forceinline__ unsigned long long place_of(const LoadableBytes& value) {
  uint64_t const count = value.count < kLongValue ? value.count : kLongValue;
  return reinterpret_cast<uint64_t>(value.data) << 16 | count;
}
__device__ __forceinline__ LoadableBytes value_at(const InternTable& table, ulonglong2 slot) {
  uint64_t const count = slot.y & kLongValue;
  if (count == kLongValue) return loadable_at(table.values, row_of_slot(slot.x));
  return loadable(table.values, {reinterpret_cast<const uint8_t*>(slot.y >> 16), count});
}

// Which row of the table's side has the value, `row` itself where it is the first; without kTakes
// absent_code where none does. What a slot names is the caller's column, which is there before any
// slot is: an order among slots and values is not needed.
template <bool kTakes>
__device__ __forceinline__ uint32_t code_of(const InternTable& table, const LoadableBytes& value,
                                            uint32_t row) {
  uint64_t const hash = table.hash.of(value);
  uint64_t place = first_slot(hash, table.slot_count);
  while (true) {
    // Past L1 while slots are taken: it would show one as free that is not any more, to all rows of
    // a heavy value.
    auto const read = [&]() -> ulonglong2 {
      if constexpr (kTakes) return {__ldcg(&table.slots[place].x), 0};
      return __ldg(&table.slots[place]);
    };
    ulonglong2 slot = read();
    while (slot.x != kFreeSlot && !has_tag_of(slot.x, hash)) {
      place = slot_after(place, table.slot_count);
      slot = read();
    }
    if (slot.x == kFreeSlot) {
      if constexpr (!kTakes) return absent_code(row, table.rows);
      slot.x = atomicCAS(&table.slots[place].x, static_cast<unsigned long long>(kFreeSlot),
                         static_cast<unsigned long long>(filled_slot(hash, row)));
      if (slot.x == kFreeSlot) {
        table.slots[place].y = place_of(value);
        return row;
      }
    }
    uint32_t const there = row_of_slot(slot.x);
    if (has_tag_of(slot.x, hash)) {
      LoadableBytes const named = kTakes ? loadable_at(table.values, there) : value_at(table, slot);
      if (are_equal(value, named)) return there;
    }
    place = slot_after(place, table.slot_count);
  }
}

__global__ void __launch_bounds__(kStreamThreads, kInternBlocksPerSm)
    intern_table_kernel(const __grid_constant__ InternTable table, ValidityBits validity,
                        uint32_t* __restrict__ codes) {
  await_last_kernel();
  uint64_t const row = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (row >= table.rows) return;
  codes[row] = is_valid(validity, row) ? code_of<true>(table, loadable_at(table.values, row),
                                                       static_cast<uint32_t>(row))
                                       : 0;
}

__global__ void __launch_bounds__(kStreamThreads, kInternBlocksPerSm)
    intern_other_kernel(const __grid_constant__ InternTable table,
                        const __grid_constant__ BytesColumn values, ValidityBits validity,
                        uint64_t rows, uint32_t* __restrict__ codes) {
  await_last_kernel();
  uint64_t const row = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (row >= rows) return;
  codes[row] = is_valid(validity, row)
                   ? code_of<false>(table, loadable_at(values, row), static_cast<uint32_t>(row))
                   : 0;
}

}  // namespace gpujoin::kernels
