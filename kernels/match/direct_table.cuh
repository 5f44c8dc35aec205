// direct_table.cuh: dense unique keys as addresses: the build side's columns in the order of the keys
//
// Source   ours; the bits that vary are found as in GQE's perfect join. No hash, no comparison: a key's place is its distance from the
//          lowest key, and the place alone says that it is there
// In       keys[rows] Key, all within [low, low + (places << shift)), their low `shift` bits equal; columns in the order of the keys' rows
// Out      present, one bit a place; targets[places] of each column; has_duplicates, when a place is taken twice
// Needs    present and has_duplicates 0 before
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    |Key| and the columns' widths a row read; a sector a row and column written, and one of the bits
//                                                                            (traffic::direct_table_build, _probe)
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/transform/key_steps.hpp"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

template <typename KeyType>
struct DirectTable : KeySteps<KeyType> {
  uint32_t places;
  uint32_t* present;  // [(places + 31) / 32]
  bool is_full;       // every place has its key: the bits need not be asked
  // A table larger than L2 is made and asked slice by slice: rows of other slices are passed over, and come again.
  uint32_t slice_places;

  __device__ bool is_of_slice(uint64_t place, uint32_t slice) const {
    uint64_t const first = uint64_t{slice} * slice_places;
    return place - first < min(slice_places, places - static_cast<uint32_t>(first));
  }
};

struct DirectColumn {
  const void* source;  // null: the row number
  void* target;
  int32_t width;
};
struct DirectColumns {
  int32_t count;
  DirectColumn columns[kMovedColumns + 1];
  // Of rows that are packed, each column's target within the first row: their width; 0: columns apart.
  int32_t row_width;
};

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    build_direct_table_kernel(const __grid_constant__ DirectTable<Key> table, uint32_t slice,
                              const Key* __restrict__ keys, uint32_t rows,
                              const __grid_constant__ DirectColumns columns,
                              uint32_t* __restrict__ has_duplicates) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  uint32_t places[kStreamItems];
  bool is_placed[kStreamItems];
  bool repeats = false;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    is_placed[item] = false;
    if (row >= rows) continue;
    places[item] = static_cast<uint32_t>(table.place_of(keys[row]));
    is_placed[item] = table.is_of_slice(places[item], slice);
    if (!is_placed[item]) continue;
    uint32_t const bit = 1U << places[item] % 32;
    repeats |= (atomicOr(&table.present[places[item] / 32], bit) & bit) != 0;
  }
  if (repeats) *has_duplicates = 1;
#pragma unroll 1
  for (int32_t i = 0; i < columns.count; ++i) {
    DirectColumn const& column = columns.columns[i];
    with_value_type(column.width, [&](auto zero) {
      using Value = decltype(zero);
      uint64_t const step = columns.row_width == 0 ? sizeof(Value) : columns.row_width;
#pragma unroll
      for (int item = 0; item < kStreamItems; ++item) {
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

// How table_columns.cuh finds the build row of each of a lane's keys.
template <typename KeyType>
struct FindPlaces {
  using Key = KeyType;
  DirectTable<Key> table;
  uint32_t slices;

  template <int kItems>
  __device__ void operator()(const Key (&keys)[kItems], const bool (&are_rows)[kItems],
                             uint32_t slice, uint32_t (&build)[kItems],
                             bool (&found)[kItems]) const {
    uint32_t words[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const place = table.place_of(keys[item]);
      found[item] = are_rows[item] && table.is_of_slice(place, slice);
      build[item] = static_cast<uint32_t>(place);
    }
    if (table.is_full) return;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (found[item]) words[item] = table.present[build[item] / 32];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      found[item] = found[item] && (words[item] >> build[item] % 32 & 1) != 0;
    }
  }
};

}  // namespace gpujoin::kernels
