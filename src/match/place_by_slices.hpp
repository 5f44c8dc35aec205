// place_by_slices.hpp: many build rows go to their places in a direct table.
#pragma once

#include <cstdint>

#include "kernels/match/place_columns.cuh"
#include "src/base/queue.hpp"
#include "src/match/table_columns.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::match {

// rows: of the table, columns side by side or the only one; placed: within the first of them. Then
// it is queued, and every word of present and *has_duplicates will be written. False, and nothing
// is queued: there are few rows, or many places without one, or fewer places than rows, or columns
// apart, or no room for the buckets.
bool place_by_slices(base::Queue& queue, const transform::KeyPlaces& range, int32_t key_width,
                     const TableSide& build, const kernels::PlacedColumns& placed, void* rows,
                     uint32_t* present, uint32_t* has_duplicates);

}  // namespace gpujoin::match
