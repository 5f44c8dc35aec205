// pick_rows.hpp: rows that a bitmap or row numbers pick, on the CPU.
//
// Source   ours; two readings of the bitmap: counts of each task's rows, then each task's row
//          numbers, in the cache, and by them every column
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/selection.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

using columns::PickedColumn;
using columns::RowBits;

uint64_t count_picked(Workers& workers, const RowBits& picked);

// The picked rows' values in each column, and their numbers where `numbers` is not null, ascending.
// Throws INVALID_ARGUMENT where the bits are no longer `count`.
void pick_rows(Workers& workers, const RowBits& picked, uint64_t count,
               const std::vector<PickedColumn>& columns, uint32_t* numbers);

// Where the first of the numbers lies that is none of `rows` rows; width: 4, or 8 with a sign.
// narrow: null, or [count] for them in 4 bytes.
std::optional<uint64_t> find_wrong_number(Workers& workers, const void* numbers, int32_t width,
                                          uint64_t count, uint64_t rows, uint32_t* narrow);

// Bits of rows that are picked and valid, in words of 8 bytes; valid.bits null: all are.
base::Buffer mask_rows(base::Queue& queue, Workers& workers, const RowBits& picked,
                       const RowBits& valid);

}  // namespace gpujoin::cpu
