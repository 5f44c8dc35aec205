// pick_rows.hpp: rows that a bitmap or row numbers pick, on the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/selection.hpp"

namespace gpujoin::transform {

// All pointers are to device memory.
using columns::PickedColumn;
using columns::PickedCount;
using columns::RowBits;

// How many rows are picked. Waits for the stream.
PickedCount count_picked(base::Queue& queue, const RowBits& picked);

// The picked rows' values in each column, and their numbers where `numbers` is not null, ascending.
// Writes at most `count` of each. Queued on the stream.
void pick_rows(base::Queue& queue, const RowBits& picked, uint64_t count,
               const std::vector<PickedColumn>& columns, uint32_t* numbers);

// Where the first of the numbers lies that is none of `rows` rows; width: 4, or 8 with a sign.
// narrow: null, or [count] for them in 4 bytes. Waits for the stream.
std::optional<uint64_t> find_wrong_number(base::Queue& queue, const void* numbers, int32_t width,
                                          uint64_t count, uint64_t rows, uint32_t* narrow);

// Bits of rows that are picked and valid, in words of 4 bytes; valid.bits null: all are. Queued on
// the stream.
base::Buffer mask_rows(base::Queue& queue, const RowBits& picked, const RowBits& valid);

}  // namespace gpujoin::transform
