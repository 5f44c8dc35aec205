#include "src/output/close_chunks.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/output/close_chunks.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"

namespace gpujoin::output {

using base::check;
using base::Memory;
using base::stream_of;

kernels::SqueezedColumns squeezed_columns(std::span<const kernels::SqueezedColumn> columns) {
  kernels::SqueezedColumns squeezed{};
  if (columns.size() > std::size(squeezed.columns)) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to squeeze", columns.size());
  }
  squeezed.count = static_cast<int32_t>(columns.size());
  std::copy(columns.begin(), columns.end(), squeezed.columns);
  return squeezed;
}

kernels::CarriedCounters close_chunks(base::Queue& queue, const Chunks& chunks,
                                      std::span<const kernels::SqueezedColumn> columns) {
  kernels::SqueezedColumns const moved = squeezed_columns(columns);
  base::Pool& pool = *queue.device_pool;
  uint64_t const most = uint64_t{chunks.most_tails} + 1;
  // Of both kinds of parts what is before them, and their places.
  base::Buffer const sums =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, 4 * (most + 1), "rows of chunks");
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(Memory::kDevice, 2, "numbers of parts of chunks");
  auto const parts = [&](uint64_t number) {
    auto* const first = sums.as<unsigned long long>() + 2 * number * (most + 1);
    return kernels::ChunkParts{first, first + most + 1, counts.as<uint32_t>() + number};
  };
  kernels::ChunkMoves const moves = {parts(0), parts(1)};

  auto const plan = kernels::plan_moves_kernel;
  uint64_t const shared = most * sizeof(uint32_t);
  base::allow_shared(queue, plan, "asking for shared memory of chunks");
  auto const move = kernels::move_rows_kernel;
  uint32_t const blocks = base::resident_blocks(queue, move, kernels::kStreamThreads, 0,
                                                "asking for blocks that fill holes");
  auto* const answer = reinterpret_cast<kernels::ChunkAnswer*>(base::start_answer(queue));
  base::launch_dependent(queue, plan, 1, kernels::kCloseThreads, shared,
                         "looking for the holes of chunks", chunks.counters, chunks.tails,
                         chunks.chunk, chunks.capacity, moves, answer);
  move<<<blocks, kernels::kStreamThreads, 0, stream_of(queue)>>>(moves, moved);
  cudaError_t const launched = cudaGetLastError();
  // Also after an error: the next join's answer comes to the same place.
  base::await_answer(queue);
  check(launched, "filling the holes of chunks");
  return answer->content;
}

}  // namespace gpujoin::output
