// hash_partitions.cu: host side of runs: placed, filled, and read back.
#include "src/transform/hash_partitions.hpp"

#include <algorithm>

#include "kernels/transform/gather_runs.cuh"
#include "kernels/transform/hash_partitions.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

using base::check;

void move_to_runs(base::Queue& queue, const uint8_t* numbers, uint32_t* counts, uint32_t rows,
                  uint32_t runs, std::span<const kernels::RunColumn> columns, uint64_t row_bytes,
                  kernels::RunHeader* header, void* out) {
  unsigned const tiles = base::grid_of(rows, kernels::kHashTile);
  cudaStream_t const stream = base::stream_of(queue);
  kernels::place_runs_kernel<<<1, kernels::kHashSumThreads, 0, stream>>>(runs, tiles, counts,
                                                                         header);
  check(cudaGetLastError(), "placing partitions");
  kernels::RunColumns some;
  some.out = out;
  some.row_bytes = row_bytes;
  for (size_t first = 0; first < columns.size(); first += kernels::kRunColumns) {
    auto const now = columns.subspan(
        first, std::min<size_t>(columns.size() - first, size_t{kernels::kRunColumns}));
    some.count = static_cast<int32_t>(now.size());
    std::copy(now.begin(), now.end(), some.columns);
    kernels::move_to_runs_kernel<<<tiles, kernels::kHashThreads, 0, stream>>>(numbers, rows, runs,
                                                                              counts, header, some);
    check(cudaGetLastError(), "moving rows to their partitions");
  }
}

void gather_runs(base::Queue& queue, const kernels::RunPiece* pieces, uint32_t count, int32_t width,
                 void* target) {
  constexpr unsigned kBlocks = 32;
  unsigned const blocks = std::min(count, kBlocks);
  kernels::with_value_type(width, [&](auto zero) {
    using Value = decltype(zero);
    kernels::gather_runs_kernel<<<blocks, kernels::kGatherThreads, 0, base::stream_of(queue)>>>(
        pieces, count, static_cast<Value*>(target));
  });
  check(cudaGetLastError(), "gathering runs of rows");
}

void pack_bits(base::Queue& queue, const uint8_t* bytes, uint64_t rows, uint32_t* words) {
  kernels::pack_bits_kernel<<<base::grid_of(rows, kernels::kStreamThreads), kernels::kStreamThreads,
                              0, base::stream_of(queue)>>>(bytes, rows, words);
  check(cudaGetLastError(), "packing bits");
}

}  // namespace gpujoin::transform
