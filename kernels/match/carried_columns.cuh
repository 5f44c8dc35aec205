// carried_columns.cuh: the join of partitions writes the output columns itself
//
// Source   ours. Payloads moved with their keys (radix_unordered.cuh), so that a match finds them
//          where its key is: no pair is written, none is read again, and nothing is gathered (Wu et
//          al. 2024 gather in section 4.3)
// In       mixed keys of both sides, contiguous partitions; columns in the order of the keys
// Out      target[] of each column, in chunks; rows in any order
// Needs    unit_ends, the inclusive sums of CarriedUnits; counters->taken 0
// Launch   as many blocks of the match's threads as are resident, dependent
// Moves    the widths of a row of either side, and of an output row (traffic::carried_columns)
// Shared   the match's table of a unit's build rows, and stages of columns; a warp takes a batch of
//          probe rows or matches at a time, and warps wait for each other where a table is built
//
//   keys unique, and few possible in a partition   match_by_rank.cuh
//   few matches a row                              match_in_rounds.cuh
//   many matches a row                             match_crossed.cuh
//   what these leave                               match_dealt.cuh
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"

namespace gpujoin::kernels {

// Whether the unit has a batch of the number: so many of the probe rows, or what the match says.
template <typename Match>
__device__ __forceinline__ bool has_batch(const CarriedUnit& unit,
                                          const typename Match::Shared& shared, uint32_t batch) {
  if constexpr (requires { Match::has_batch(shared, batch); }) {
    return Match::has_batch(shared, batch);
  } else {
    return Match::first_row(unit, batch) < unit.probe_rows;
  }
}

template <typename Match>
__global__ void __launch_bounds__(Match::kThreads, Match::kBlocksPerSm)
    carried_columns_kernel(const __grid_constant__ typename Match::Join join) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<typename Match::Shared*>(dynamic_shared);
  let_next_kernel_start();
  await_last_kernel();
  unsigned long long const units = join.unit_ends[join.partitions - 1];
  unsigned long long number = blockIdx.x;
  if (threadIdx.x == 0) {
    CarriedPlaces::start(join, shared.places);
    shared.is_full = false;
    Match::start(join, shared);
  }
  auto const find_unit = [&](CarriedUnit& unit) {
    find_carried_unit<Match::kUnitRows, Match::kWholeBuild, Match::kKeeps>(
        join, Match::heavy_rows(join), number, unit);
  };
  if (number < units && threadIdx.x < 32) find_unit(shared.units[0]);
  block_sync();
  for (uint32_t turn = 0; number < units; turn ^= 1) {
    CarriedUnit const& unit = shared.units[turn];
    uint32_t batch = threadIdx.x / 32;
    if (threadIdx.x == 0) shared.batch = Match::kThreads / 32;
    stage_columns<Match>(join, unit);
    typename Match::Batch ahead;
    if constexpr (Match::kLoadsAhead) ahead.load_ahead(join, unit, Match::first_row(unit, batch));
    bool const is_joined = Match::build(join, unit, shared);
    CarriedUnit& next = shared.units[turn ^ 1];
    if (threadIdx.x < 32) {
      number = take_unit(join);
      if (threadIdx.x == 0) next.number = number;
      if (number < units) find_unit(next);
    }
    while (is_joined && has_batch<Match>(unit, shared, batch)) {
      uint32_t const taken = batch;
      if constexpr (!Match::kLoadsAhead) ahead.load(join, unit, Match::first_row(unit, taken));
      typename Match::Batch const keys = ahead;
      batch = take_batch(shared);
      if constexpr (Match::kLoadsAhead) {
        ahead.load_ahead(join, unit, Match::first_row(unit, batch));
      }
      Match::join_batch(join, unit, shared, taken, keys);
    }
    if constexpr (Match::kKeeps) {
      block_sync();
      if (is_joined) Match::end_unit(join, unit, shared);
    }
    __pipeline_wait_prior(0);  // of a unit that is left
    block_sync();              // the table and the unit are read to the end
    number = next.number;
  }
  if (threadIdx.x == 0) {
    CarriedPlaces::finish(join, shared.places);
    if constexpr (Match::kKeeps) Match::finish(join, shared);
  }
}

}  // namespace gpujoin::kernels
