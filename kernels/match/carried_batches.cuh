// carried_batches.cuh: the probe rows that a warp of a join that writes columns looks up at a time
//
// Source   ours
// In       probe keys and columns of a unit
// Out      the keys of a batch in registers; where most rows have a match, their columns in L2
// Needs    all lanes of a warp
// Moves    |key| a probe row; the probe columns' widths, which the match would move later
//
// A warp waits for keys of one batch while it writes another, and for those of its first while the
// table is made. Of 2^27 x 2^27 rows the match takes 1.33 ms, and 1.46 where it loads keys when it
// wants them.
#pragma once

#include <cstdint>

#include "kernels/match/carried_units.cuh"
#include "kernels/warp_take.cuh"

namespace gpujoin::kernels {

// Number of the next batch of the unit that no warp has. Each has that of its own number in the
// block first.
__device__ __forceinline__ uint32_t take_batch(CarriedBlock& block) {
  return warp_take(&block.batch);
}

// Queues rows of a column for L2, as far as they fill vectors. One thread.
__device__ __forceinline__ void fetch_to_l2(const CarriedColumn& column, uint64_t first,
                                            uint32_t rows) {
#if __CUDA_ARCH__ >= 900
  constexpr uint64_t kVector = 16;
  uint64_t const source =
      reinterpret_cast<uint64_t>(column.source) + first * static_cast<uint32_t>(column.width);
  uint64_t const begin = (source + kVector - 1) & ~(kVector - 1);
  uint64_t const end = (source + rows * static_cast<uint32_t>(column.width)) & ~(kVector - 1);
  if (end <= begin) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
               "r"(static_cast<uint32_t>(end - begin)));
#endif
}

template <typename Match>
struct BatchKeys {
  using Key = typename Match::Key;
  static constexpr uint32_t kRows = 32 * Match::kItems;
  Key keys[Match::kItems];

  // Rows of the unit from `first` on; there may be none.
  __device__ __forceinline__ void load(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                       uint32_t first) {
    uint32_t const row = first + threadIdx.x % 32;
    const Key* const source = join.probe_keys + unit.probe_first + row;
#pragma unroll
    for (int item = 0; item < Match::kItems; ++item) {
      if (row + 32 * item < unit.probe_rows) keys[item] = source[32 * item];
    }
  }

  // The same long before they are wanted. Wider columns would fill L2.
  __device__ __forceinline__ void load_ahead(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                             uint32_t first) {
    load(join, unit, first);
    if (Match::kWidth != 4 || !join.most_match) return;
    if (threadIdx.x % 32 != 0 || first >= unit.probe_rows) return;
    uint32_t const rows = min(unit.probe_rows - first, kRows);
#pragma unroll 1
    for (int32_t i = 0; i < join.column_count; ++i) {
      CarriedColumn const& column = join.columns[i];
      if (column.from != CarriedFrom::kProbe) continue;
      if (Match::Join::kNumbersRows && column.source == nullptr) continue;
      fetch_to_l2(column, uint64_t{unit.probe_first} + first, rows);
    }
  }
};

}  // namespace gpujoin::kernels
