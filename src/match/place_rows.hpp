// place_rows.hpp: how many build rows go to their places in a direct table.
#pragma once

#include <cstdint>

#include "kernels/limits.hpp"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/place_slices.hpp"
#include "src/base/launch.hpp"
#include "src/base/queue.hpp"
#include "src/match/table_columns.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::match {

// A direct table before its rows are placed.
struct EmptyTable {
  transform::KeyPlaces range;
  int32_t key_width = 0;
  TableSide build;
  kernels::PlacedColumns placed;  // within the first of `rows`
  void* rows = nullptr;  // [places]: columns side by side, or the only one; of columns apart unused
  uint32_t* present = nullptr;         // of every 128 places four words
  uint32_t* has_duplicates = nullptr;  // one word

  // Of a row; 0: columns are apart.
  int32_t row_width() const {
    if (placed.row_width != 0) return placed.row_width;
    return placed.count == 1 ? placed.columns[0].width : 0;
  }
};

// Its slices, each of which fits a block's shared memory. Of count 0: more than `most`.
inline kernels::PlaceSlices shared_slices_of(const base::Queue& queue, const EmptyTable& table,
                                             uint64_t row_bytes, uint32_t most) {
  constexpr uint64_t kReserved = 1024;  // of a block's shared memory, by CUDA
  base::DeviceFacts const& facts = queue.context.facts;
  return kernels::fitting_slices(static_cast<uint32_t>(table.range.places), row_bytes,
                                 facts.shared_bytes_per_block - kReserved,
                                 static_cast<uint32_t>(facts.sm_count), most);
}

// Queued, and every word of present and *has_duplicates will be written. False, and the table is as
// it was: there are few rows, or fewer places than rows, or columns apart, or rows of another width
// than 4, 8 and 16 bytes, and what each says.

// Through buckets, slice by slice. near: rows near each other have places near each other. False
// also where more than every other place has no row, or there is no room for the buckets, or, far
// from each other, for more slices.
bool place_by_slices(base::Queue& queue, const EmptyTable& table, bool near);

// From where they lie, by whole words. Waits for the stream. False also where the keys' tiles are
// not told, columns of 1 or 2 bytes share a word, rows near each other have places too far apart
// for it, or there is no room for what is noted of them.
bool place_near(base::Queue& queue, const EmptyTable& table);

// function(Key, Row), types of an EmptyTable that these can fill; else false.
template <typename Function>
bool with_placed_types(const EmptyTable& table, Function function) {
  if (table.build.rows < kernels::kLeastPlacedBySlices) return false;
  // There may be fewer words than slices.
  if (table.range.places < table.build.rows) return false;
  return base::with_key_type(table.key_width, [&](auto key) {
    switch (table.row_width()) {
      case 4:
        return function(key, uint32_t{});
      case 8:
        return function(key, uint2{});
      case 16:
        return function(key, uint4{});
      default:
        return false;
    }
  });
}

}  // namespace gpujoin::match
