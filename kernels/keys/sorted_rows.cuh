// sorted_rows.cuh: the lowest rows whose keys do not follow those of the row before
//
// Source   ours; see sorted_rows.hpp
// In       keys            on the device
// Out      lowest[kSortedFindings]
// Needs    lowest all ones
// Launch   kRangeBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less; dependent
// Moves    each row's keys, once: the row before is in the cache
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/sorted_rows.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    sorted_rows_kernel(const __grid_constant__ SortedColumns keys, uint64_t rows,
                       unsigned long long* lowest) {
  await_last_kernel();
  uint64_t const stride = uint64_t{gridDim.x} * kStreamThreads;
  for (uint64_t row = blockIdx.x * uint64_t{kStreamThreads} + threadIdx.x + 1; row < rows;
       row += stride) {
    int32_t column = 0;
    SortedStep const step = step_to(keys, row, &column);
    if (step == SortedStep::kNone) continue;
    unsigned long long* const found = &lowest[finding_of(step, column)];
    if (*static_cast<volatile unsigned long long*>(found) > row) {
      atomicMin(found, static_cast<unsigned long long>(row));
    }
  }
}

}  // namespace gpujoin::kernels
