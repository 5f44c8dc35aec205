#include "src/transform/copy_rows.hpp"

#include "kernels/transform/copy_rows.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/memory.hpp"

namespace gpujoin::transform {

bool can_copy_rows(uint64_t columns, int32_t key_width) {
  // The keys are beside the others.
  return columns <= kernels::kMovedColumns + 1 && (key_width == 4 || key_width == 8);
}

SeenKeys copy_rows(base::Queue& queue, std::span<const CopiedColumn> columns, size_t keys,
                   uint32_t rows) {
  kernels::CopiedColumns copied{};
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i == keys) continue;
    CopiedColumn const& column = columns[i];
    copied.columns[copied.count++] = {
        column.source, column.target,
        base::checked_bytes(rows, static_cast<uint64_t>(column.width))};
  }
  base::ZeroedCounts zeroed(queue, sizeof(kernels::KeyRangeState));
  auto* state = zeroed.as<kernels::KeyRangeState>();
  auto* answer = reinterpret_cast<kernels::KeyRangeAnswer*>(base::start_answer(queue));
  unsigned const grid = base::grid_of(queue, rows, kernels::kStreamTile, kernels::kCopyBlocksPerSm);
  base::with_key_type(columns[keys].width, [&](auto zero) {
    using Key = decltype(zero);
    auto const* source = static_cast<const Key*>(columns[keys].source);
    auto* target = static_cast<Key*>(columns[keys].target);
    // Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
    // answer the next join.
    void* args[] = {&copied, &source, &target, &rows, &state, &answer};
    base::check(
        cudaLaunchKernel(reinterpret_cast<const void*>(kernels::copy_rows_kernel<Key>), dim3(grid),
                         dim3(kernels::kStreamThreads), args, 0, base::stream_of(queue)),
        "copying the rows of a batch");
  });
  zeroed.all_launched();
  base::await_answer(queue);
  return {columns[keys].target, rows, answer->content};
}

}  // namespace gpujoin::transform
