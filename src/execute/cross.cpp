#include "src/execute/cross.hpp"

#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/base/without_cuda.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

void cross_pairs_on_cpu(base::Queue& queue, uint64_t rows, uint32_t right_rows, uint32_t* left,
                        uint32_t* right) {
  cpu::Workers workers(queue);
  workers.for_each_range("match", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint64_t of_left = first / right_rows;
    uint64_t of_right = first % right_rows;
    for (uint64_t row = first; row < end; ++row) {
      left[row] = static_cast<uint32_t>(of_left);
      right[row] = static_cast<uint32_t>(of_right);
      if (++of_right == right_rows) {
        of_right = 0;
        ++of_left;
      }
    }
  });
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
void cross_pairs_on_gpu(base::Queue&, uint64_t, uint32_t, uint32_t*, uint32_t*) {
  base::fail_without_cuda();
}
#endif

void cross(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  plan::JoinPlan const& plan = join.choice.plan();
  bool const cuda = plan.device == plan::Device::kCuda;
  result.memory = plan::memory_of(plan.device);
  int64_t product = 0;
  bool const is_counted = !__builtin_mul_overflow(join.left->rows, join.right->rows, &product);
  check_limits(join, is_counted ? product : INT64_MAX);
  if (!is_counted) {
    base::fail(GPUJOIN_ERROR_OUT_OF_MEMORY, "a cross join of %lld and %lld rows",
               static_cast<long long>(join.left->rows), static_cast<long long>(join.right->rows));
  }
  result.rows = product;
  auto const rows = static_cast<uint64_t>(product);
  // Rows of one side, each with all of the other; they come in the order of the first.
  bool const by_right = join.wanted().order == columns::RowOrder::kRight;
  auto const each_rows = static_cast<uint32_t>((by_right ? join.left : join.right)->rows);
  base::Pool& pool = cuda ? *queue.device_pool : *queue.host_pool;
  base::Buffer left = pool.allocate_rows<uint32_t>(result.memory, rows, "left row numbers");
  base::Buffer right = pool.allocate_rows<uint32_t>(result.memory, rows, "right row numbers");
  auto* const outer = (by_right ? right : left).as<uint32_t>();
  auto* const inner = (by_right ? left : right).as<uint32_t>();
  run_as_stage(queue, plan.device, join.choice.predicted().front(), result.statistics.stages, [&] {
    auto const pairs_of = cuda ? cross_pairs_on_gpu : cross_pairs_on_cpu;
    pairs_of(queue, rows, each_rows, outer, inner);
  });
  result.left_rows = columns::make_storage(std::move(left));
  result.right_rows = columns::make_storage(std::move(right));
  fetch_columns_of_pairs(queue, join, result);
  result.has_pairs = join.asked().pairs;
  if (!result.has_pairs) result.left_rows = result.right_rows = nullptr;
}

}  // namespace gpujoin::execute
