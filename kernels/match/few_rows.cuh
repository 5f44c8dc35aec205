// few_rows.cuh: few probe rows ask a table that is there, in one launch that tells the host itself
//
// Source   ours; of probes of a kept build side: counters to clear, holes to close, a copy of
//          counts and a wait for the stream take three times as long as the work
// In       as whole_columns.cuh; has_duplicates
// Out      target[] of each column, without holes; the answer. With repeated build keys nothing is
//          written but the answer, which says so
// Needs    state all 0, which it is again afterwards; room as whole_columns.cuh
// Launch   as many blocks of kTableThreads as have rows, or are resident
// Moves    as table_columns.cuh
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/last_block.cuh"
#include "kernels/match/small_rows.cuh"
#include "kernels/match/table_columns.cuh"
#include "kernels/match/whole_columns.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Probe rows at most. What this way saves is some microseconds, whatever their number.
constexpr uint32_t kFewRows = 1U << 20;

struct FewRowsState {
  unsigned long long rows;
  unsigned long long started;
  uint32_t finished;  // blocks
};

// The last block to come tells the host, and leaves the state as it was.
__device__ __forceinline__ void answer_few_rows(FewRowsState* of_all, bool repeats,
                                                unsigned long long* answer) {
  block_sync();
  if (threadIdx.x != 0 || !comes_last(&of_all->finished)) return;
  volatile FewRowsState* const state = of_all;
  unsigned long long const rows = state->rows;
  unsigned long long const started = state->started;
  *of_all = {};
  tell_host(answer, rows, false, repeats, started);
}

template <int kWidth, typename Row, typename Finder>
__global__ void __launch_bounds__(kTableThreads, kTableBlocksPerSm)
    few_rows_kernel(const __grid_constant__ TableJoin<typename Finder::Key> join,
                    const __grid_constant__ Finder finder, FewRowsState* state,
                    unsigned long long* answer) {
  constexpr int kItems = kItemsOf<kWidth, Finder>;
  if (blockIdx.x == 0 && threadIdx.x == 0) state->started = nanoseconds();
  bool const repeats = join.has_duplicates != nullptr && *join.has_duplicates != 0;
  if (!repeats) {
    write_whole_columns<kTableThreads, kWidth, kItems, Row>(join, finder, &state->rows);
  }
  answer_few_rows(state, repeats, answer);
}

}  // namespace gpujoin::kernels
