// place_columns.cuh: build rows go to their places in a table, with their columns
//
// Source   ours
// In       keys[rows] Key; columns in the order of the keys' rows; a table, which says where a
//          key's place is (direct_table.cuh, row_slots.cuh)
// Out      targets[places] of each column, apart or side by side; has_duplicates, when a key comes
//          twice
// Needs    has_duplicates 0 before, and the table empty
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads, for each slice of the table
// Moves    |Key| and the columns' widths a row read; a sector a row and column written, and what
//          the table does
#pragma once

#include <cstdint>

#include "kernels/block_flag.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

struct PlacedColumn {
  const void* source;  // null: the row number
  void* target;
  int32_t width;
};
struct PlacedColumns {
  int32_t count;
  PlacedColumn columns[kMovedColumns + 1];
  // Of rows that are packed, each column's target within the first row: their width; 0: columns
  // apart.
  int32_t row_width;
};

// Calls function(column, where the first of `rows` has its part, zero of its type) for each column
// of rows that are packed, or of the only one. first_target: where the first row begins, of which
// the columns' targets are parts.
template <typename Row, typename Function>
__device__ __forceinline__ void each_piece(const PlacedColumns& columns,
                                           const unsigned char* first_target, Row* rows,
                                           Function function) {
#pragma unroll 1
  for (int32_t i = 0; i < columns.count; ++i) {
    PlacedColumn const& column = columns.columns[i];
    auto* const piece = reinterpret_cast<unsigned char*>(rows) +
                        (static_cast<const unsigned char*>(column.target) - first_target);
    with_value_type(column.width, [&](auto zero) {
      // No wider one is part of the row, and would take registers of all.
      if constexpr (sizeof(zero) <= sizeof(Row)) function(column, piece, zero);
    });
  }
}

// Of the rows of a thread in its block's tile, those that have a place.
template <int kItems>
__device__ __forceinline__ void write_columns(const PlacedColumns& columns, uint64_t tile,
                                              const uint32_t (&places)[kItems],
                                              const bool (&is_placed)[kItems]) {
#pragma unroll 1
  for (int32_t i = 0; i < columns.count; ++i) {
    PlacedColumn const& column = columns.columns[i];
    with_value_type(column.width, [&](auto zero) {
      using Value = decltype(zero);
      uint64_t const step = columns.row_width == 0 ? sizeof(Value) : columns.row_width;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
        if (!is_placed[item]) continue;
        auto* const target = static_cast<unsigned char*>(column.target) + step * places[item];
        if (column.source == nullptr) {
          *reinterpret_cast<uint32_t*>(target) = static_cast<uint32_t>(row);
        } else {
          *reinterpret_cast<Value*>(target) = static_cast<const Value*>(column.source)[row];
        }
      }
    });
  }
}

template <typename Table>
__global__ void __launch_bounds__(kStreamThreads)
    place_columns_kernel(const __grid_constant__ Table table, uint32_t slice,
                         const typename Table::Key* __restrict__ keys, uint32_t rows,
                         const __grid_constant__ PlacedColumns columns, uint32_t* has_duplicates) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  typename Table::Key own[kStreamItems];
  uint32_t places[kStreamItems];
  bool is_placed[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    is_placed[item] = row < rows;
    if (is_placed[item]) own[item] = keys[row];
  }
  // All is in vain when keys repeat, and swaps of a heavy key would queue up on its slot.
  bool may_repeat = false;
  if constexpr (requires { table.any_row; }) may_repeat = table.any_row;
  if (!may_repeat && is_set_by_now(has_duplicates)) return;
  bool const repeats = table.take(own, slice, places, is_placed);
  if (!may_repeat) {
    if (repeats) *has_duplicates = 1;
  } else if (__any_sync(0xffffffffU, repeats) && threadIdx.x % 32 == 0 && *has_duplicates == 0) {
    // So few tell it, of all those that see it, that they do not queue up at one address.
    *has_duplicates = 1;
  }
  write_columns(columns, tile, places, is_placed);
}

}  // namespace gpujoin::kernels
