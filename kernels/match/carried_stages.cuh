// carried_stages.cuh: columns of a unit in shared memory
//
// Source   ours. A lane that gathers from global memory costs the first-level cache a look at a
//          line of its own, so that a warp takes it 32 cycles; from shared memory it takes 3 or 4
// In       columns that have a stage: of the build side, and where the match gathers those, too, of
//          the probe side
// Out      the unit's rows of each, in their order, once the caller has waited for the pipeline and
//          come to a barrier
// Needs    all threads of the block; those who read the stages before have come to a barrier
// Moves    the columns' widths a row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/load_column.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// Stages begin with a row whose number is a multiple, so that even values of one byte are loaded as
// vectors.
constexpr uint32_t kStageAlign = 16;
// Shared memory of a stage.
__host__ __device__ constexpr uint32_t stage_bytes(int32_t width) {
  return (kCarriedBuildRows + kStageAlign) * static_cast<uint32_t>(width);
}

// The row at the beginning of the unit's stages.
__device__ __forceinline__ uint32_t first_staged(const CarriedUnit& unit) {
  return unit.build_first - unit.build_first % kStageAlign;
}

// The lane's probe rows from `first` on.
template <typename Rows, typename Batch>
__device__ __forceinline__ void start_batch(const CarriedUnit& unit, uint32_t first,
                                            const Batch& batch, Rows& rows) {
  rows.build_first = first_staged(unit);
#pragma unroll
  for (int item = 0; item < Rows::kItems; ++item) {
    rows.probe[item] = unit.probe_first + first + 32 * item + threadIdx.x % 32;
    rows.keys[item] = batch.keys[item];
  }
}

// The same of a match that stages probe columns.
__device__ __forceinline__ uint32_t first_staged_probe(const CarriedUnit& unit) {
  return unit.probe_first - unit.probe_first % kStageAlign;
}
template <typename Match>
constexpr bool kStagesProbe = requires {
  requires Match::kStagesProbe;
};

// Queues the unit's part of the columns that have a stage. All threads.
template <typename Match>
__device__ __forceinline__ void stage_columns(const typename Match::Join& join,
                                              const CarriedUnit& unit) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    CarriedColumn const& column = join.columns[i];
    if (column.stage == 0) continue;
    bool const of_probe = kStagesProbe<Match> && column.from == CarriedFrom::kProbe;
    uint32_t const first = of_probe ? first_staged_probe(unit) : first_staged(unit);
    uint32_t const end =
        of_probe ? unit.probe_first + unit.probe_rows : unit.build_first + unit.build_rows;
    with_width<Match::kWidth>(column.width, [&](auto zero) {
      using Value = decltype(zero);
      constexpr int kThreads = Match::kThreads;
      constexpr int kVectors = (stage_bytes(sizeof(Value)) / 16 + kThreads - 1) / kThreads;
      load_column<kThreads, kVectors>(reinterpret_cast<Value*>(dynamic_shared + column.stage),
                                      static_cast<const Value*>(column.source) + first,
                                      end - first);
    });
  }
  __pipeline_commit();
}

}  // namespace gpujoin::kernels
