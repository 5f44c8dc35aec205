// carried_stages.cuh: the build columns of a unit in shared memory
//
// Source   ours. A lane that gathers from global memory costs the first-level cache a look at a line of its own, so that a warp takes it
//          32 cycles; from shared memory it takes 3 or 4
// In       build columns that have a stage
// Out      the unit's rows of each, in their order, once the caller has waited for the pipeline and come to a barrier
// Needs    all threads of the block; those who read the stages before have come to a barrier
// Moves    the columns' widths a build row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/load_column.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// Stages begin with a row whose number is a multiple, so that even values of one byte are loaded as vectors.
constexpr uint32_t kStageAlign = 16;
// Shared memory of a stage.
__host__ __device__ constexpr uint32_t stage_bytes(int32_t width) {
  return (kCarriedBuildRows + kStageAlign) * static_cast<uint32_t>(width);
}

// Queues the unit's part of the columns that have a stage. All threads.
template <int kWidth, int kThreads, typename Key>
__device__ __forceinline__ void stage_columns(const CarriedJoin<Key>& join,
                                              const CarriedUnit& unit) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  uint32_t const head = unit.build_first % kStageAlign;
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    CarriedColumn const& column = join.columns[i];
    if (column.stage == 0) continue;
    auto const load = [&](auto zero) {
      using Value = decltype(zero);
      constexpr int kVectors = (stage_bytes(sizeof(Value)) / 16 + kThreads - 1) / kThreads;
      load_column<kThreads, kVectors>(
          reinterpret_cast<Value*>(dynamic_shared + column.stage),
          static_cast<const Value*>(column.source) + (unit.build_first - head),
          head + unit.build_rows);
    };
    if constexpr (kWidth == 4) {
      load(uint32_t{});
    } else if constexpr (kWidth == 8) {
      load(uint64_t{});
    } else {
      with_value_type(column.width, load);
    }
  }
  __pipeline_commit();
}

}  // namespace gpujoin::kernels
