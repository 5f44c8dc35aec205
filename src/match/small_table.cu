// small_table.cu: host side of the join of few rows in one launch, of all blocks or of one.
#include "src/match/small_table.hpp"

#include <algorithm>

#include "kernels/match/block_table.cuh"
#include "kernels/match/small_table.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/whole_columns.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::stream_of;

static_assert(kernels::kSmallTableRows <= kernels::SmallTableAnswer::kMostRows);

template <typename Key, int kWidth>
void launch_one_block(base::Queue& queue, const kernels::SmallTableJoin<Key>& args,
                      uint32_t most_rows) {
  constexpr uint64_t kAllowedAnyway = 48 * 1024;
  auto const kernel = kernels::block_table_kernel<Key, kWidth>;
  uint64_t const shared = (args.mask + 1) * sizeof(uint64_t);
  if (shared > kAllowedAnyway) {
    base::allow_shared(queue, kernel, "asking for the shared memory of a small join");
  }
  uint32_t const warps = base::grid_of(most_rows, 32 * kernels::kBlockTableRowsPerThread);
  unsigned const threads = std::min<unsigned>(32 * warps, kernels::kBlockTableThreads);
  // Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
  // answer the next join.
  auto join = args;
  void* kernel_args[] = {&join};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(threads), kernel_args,
                         shared, stream_of(queue)),
        "joining few rows");
}

template <typename Key, int kWidth>
void launch_all_blocks(base::Queue& queue, kernels::SmallTableJoin<Key>& args, uint32_t most_rows) {
  auto const kernel = kernels::small_table_kernel<Key, kWidth>;
  uint32_t const resident = base::resident_blocks(queue, kernel, kernels::kSmallTableThreads, 0,
                                                  "asking for blocks of a small join");
  unsigned const blocks = std::min(base::grid_of(most_rows, kernels::kSmallTableThreads), resident);
  void* kernel_args[] = {&args};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), blocks,
                                    kernels::kSmallTableThreads, kernel_args, 0, stream_of(queue)),
        "launching a small join");
}

template <typename Key, int kWidth>
std::optional<SmallRows> in_one_launch(base::Queue& queue, const plan::JoinPlan& plan,
                                       const TableSide& build, const TableSide& probe,
                                       const std::vector<CarriedOutput>& outputs) {
  uint64_t const slots = base::traffic::global_table_slots(build.rows);
  kernels::SmallTableJoin<Key> args{};
  args.build_keys = static_cast<const Key*>(build.keys);
  args.build_rows = build.rows;
  if (plan.match == plan::Match::kDirectTable) {
    // As many as the slots have room for.
    args.most_places = static_cast<uint32_t>(
        std::min(base::traffic::most_direct_places(build.rows), slots * sizeof(uint64_t) / 4));
  }
  args.mask = slots - 1;
  args.output.probe_keys = static_cast<const Key*>(probe.keys);
  args.output.probe_rows = probe.rows;
  args.output.capacity = probe.rows;
  std::vector<base::Buffer> columns = start_columns(queue, probe.rows, outputs, &args.output);
  args.answer = base::start_answer(queue);

  uint32_t const most_rows = std::max(build.rows, probe.rows);
  constexpr uint32_t kBlockBuildRows =
      kernels::kBlockTableThreads * (kWidth == 4 ? kernels::kTableItems : kernels::kTableItemsWide);
  base::Buffer table;
  if (most_rows <= kernels::kSmallTableBlockRows && build.rows <= kBlockBuildRows) {
    launch_one_block<Key, kWidth>(queue, args, most_rows);
  } else {
    table = queue.device_pool->allocate_rows<unsigned long long>(base::Memory::kDevice, slots,
                                                                 "the table");
    args.slots = table.as<unsigned long long>();
    base::ZeroedCounts zeroed(queue, sizeof(kernels::SmallTableState));
    args.state = zeroed.as<kernels::SmallTableState>();
    launch_all_blocks<Key, kWidth>(queue, args, most_rows);
    zeroed.all_launched();
  }
  kernels::SmallTableAnswer const answer = {base::await_answer(queue)};
  if (answer.repeats()) return std::nullopt;
  if (answer.rows() != 0) hand_over(std::move(columns), outputs);
  SmallRows written;
  written.rows = answer.rows();
  written.room = probe.rows;
  written.launches = 1;
  written.milliseconds = static_cast<double>(answer.nanoseconds()) * 1e-6;
  if (answer.is_direct()) written.table = plan::Match::kDirectTable;
  return written;
}

}  // namespace

std::optional<SmallRows> small_table(base::Queue& queue, const plan::JoinPlan& plan,
                                     int32_t key_width, const TableSide& build,
                                     const TableSide& probe,
                                     const std::vector<CarriedOutput>& outputs) {
  check_count(outputs);
  if (build.rows == 0 || probe.rows == 0) return SmallRows{{}, plan.match};
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    auto const join = common_width(outputs) == 4 ? in_one_launch<Key, 4> : in_one_launch<Key, 0>;
    return join(queue, plan, build, probe, outputs);
  });
}

}  // namespace gpujoin::match
