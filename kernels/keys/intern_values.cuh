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
//          two; where a row with its tag is there, two more: where that row's bytes lie, and they
//
// A row's five reads wait for each other. What hides it are as many threads as a multiprocessor
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
  unsigned long long* slots;  // [slot_count]
  uint64_t slot_count;
};

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
    auto const read = [&] {
      return kTakes ? __ldcg(&table.slots[place]) : __ldg(&table.slots[place]);
    };
    unsigned long long slot = read();
    while (slot != kFreeSlot && !has_tag_of(slot, hash)) {
      place = slot_after(place, table.slot_count);
      slot = read();
    }
    if (slot == kFreeSlot) {
      if constexpr (!kTakes) return absent_code(row, table.rows);
      slot = atomicCAS(&table.slots[place], static_cast<unsigned long long>(kFreeSlot),
                       static_cast<unsigned long long>(filled_slot(hash, row)));
      if (slot == kFreeSlot) return row;
    }
    uint32_t const there = row_of_slot(slot);
    if (has_tag_of(slot, hash) && are_equal(value, loadable_at(table.values, there))) return there;
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
