#include "src/execute/without_equality.hpp"

#include <utility>

#include "src/base/status.hpp"
#include "src/base/without_cuda.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
void without_equality_on_gpu(base::Queue&, const PlannedJoin&, const RangeTask&,
                             columns::JoinResult&) {
  base::fail_without_cuda();
}
#endif

bool is_without_equality(const columns::JoinSpec& spec) {
  return spec.left_keys.empty() && spec.residual != nullptr;
}

void plan_without_equality(base::Queue& queue, plan::Device device, PlannedJoin* join) {
  RangeTask const task = range_task_of(*join);
  plan::WithoutEquality how;
  how.search = search_of(task);
  how.inequalities = text_of(task.inequalities, *join->left, *join->right);
  how.is_evaluated = task.is_evaluated;
  if (auto const share = share_of_pairs(queue, *join, task.inequalities)) {
    how.found = *share;
    how.is_sampled = true;
  } else {
    for (size_t i = 0; i < task.inequalities.taken.size(); ++i) how.found /= 2;
  }
  join->choice = plan::choose_without_equality(join->request, how, device, join->context->facts);
}

void without_equality(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  plan::Device const device = join.choice.plan().device;
  bool const cuda = device == plan::Device::kCuda;
  result.memory = plan::memory_of(device);
  RangeTask task = range_task_of(join);
  // In nothing there is nothing to find.
  bool const is_empty = join.left->rows == 0 || join.right->rows == 0;
  if (!is_empty && !task.is_nested_loop()) {
    plan::StageCost codes;
    codes.stage = "transform";
    codes.technique = "order codes";
    codes.bytes = 2 * sizeof(uint64_t) * task.inequalities.taken.size() *
                  static_cast<uint64_t>(join.left->rows + join.right->rows);
    run_as_stage(queue, device, codes, result.statistics.stages,
                 [&] { make_codes(queue, join, device, &task); });
  }
  run_as_stage(queue, device, join.choice.predicted().front(), result.statistics.stages, [&] {
    auto const find = cuda ? without_equality_on_gpu : without_equality_on_cpu;
    find(queue, join, task, result);
  });
  if (task.is_marked) return;
  result.pair_sides = join.spec.pair_sides;
  fetch_columns_of_pairs(queue, join, result);
  result.has_pairs = join.spec.pairs;
  if (!join.spec.left_rows()) result.left_rows = nullptr;
  if (!join.spec.right_rows()) result.right_rows = nullptr;
}

}  // namespace gpujoin::execute
