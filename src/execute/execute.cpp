// execute.cpp: runs a planned join on the executor that the plan names, and keeps the account.
#include <chrono>

#include "src/base/status.hpp"
#include "src/base/without_cuda.hpp"
#include "src/execute/aggregate.hpp"
#include "src/execute/asof.hpp"
#include "src/execute/cross.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/order_rows.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/promises.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/without_equality.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
void on_gpu(base::Queue&, const PlannedJoin&, columns::JoinResult&, const JoinGroups*) {
  base::fail_without_cuda();
}
std::optional<keys::KeyEncoding> look_at_keys_on_gpu(base::Queue&, const PlannedJoin&) {
  return std::nullopt;
}
std::optional<keys::KeyEncoding> look_at_build_keys_on_gpu(base::Queue&, const PlannedJoin&) {
  return std::nullopt;
}
plan::SampleFindings sample_on_gpu(base::Queue&, const columns::Relation&, int32_t,
                                   const columns::Relation&, int32_t, plan::SampleEffort) {
  base::fail_without_cuda();
}
#endif

namespace {

// The join, with the pairs as it knows them.
std::shared_ptr<const PlannedJoin> candidates_of(const PlannedJoin& join,
                                                 const columns::JoinResult& result) {
  auto candidates = std::make_shared<PlannedJoin>(join);
  if (candidates->picked) {
    candidates->picked->left_candidates = result.left_rows;
    candidates->picked->right_candidates = result.right_rows;
  }
  return candidates;
}

// Pairs, or rows of one side, on the executor of the plan. groups: of a join that adds_in_match or
// adds_in_partitions.
void match(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result,
           const JoinGroups* groups) {
  bool const cuda = join.choice.plan().device == plan::Device::kCuda;
  if (join.grouped && is_product(*join.grouped)) return;
  if (join.asked().kind == columns::JoinKind::kCross) return cross(queue, join, result);
  if (join.spec.asof) return asof(queue, join, result);
  try {
    if (is_without_equality(join.asked())) return without_equality(queue, join, result);
    cuda ? on_gpu(queue, join, result, groups) : on_cpu(queue, join, result, groups);
  } catch (const base::Error& error) {
    if (error.status() == GPUJOIN_ERROR_ROW_LIMIT) fail_early(join, error.what());
    throw;
  }
}

}  // namespace

void name_registered_rows(base::Queue& queue, const PickedSides& sides,
                          columns::JoinResult& result) {
  for (bool const left : {true, false}) {
    auto const& origin = left ? sides.left : sides.right;
    if (origin == nullptr || !(left ? result.has_left_rows() : result.has_right_rows())) continue;
    columns::Storage& rows = left ? result.left_rows : result.right_rows;
    rows = as_registered(queue, result.memory, *origin, rows, result.rows);
  }
}

void put_out_rows(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  check_limits(join, result.rows);
  if (ordering_side(join)) order_rows(queue, join, result);
  if (join.late) put_out_late(queue, join, result);
}

// A reason that is there already takes less to keep than what it would be made of.
std::function<std::string()> why_planned(const PlannedJoin& join) {
  if (join.choice.reason.empty()) {
    return [held = join.context, choice = join.choice] {
      return held->reason + "; " + plan::reason_of(choice);
    };
  }
  return
      [held = join.context, reason = join.choice.reason] { return held->reason + "; " + reason; };
}

namespace {

// Of a join that adds_in_partitions null: its groups were left to other plans.
std::unique_ptr<columns::JoinResult> execute_planned(base::Queue& queue, const PlannedJoin& join) {
  plan::JoinPlan const& plan = join.choice.plan();
  bool const is_cross = join.asked().kind == columns::JoinKind::kCross;
  bool const has_keys = !is_cross && !is_without_equality(join.asked());
  auto const key_count = static_cast<int32_t>(join.spec.left_keys.size());
  bool const is_asof = join.spec.asof.has_value();
  if (auto const why = has_keys && !is_asof ? plan::why_illegal(plan, key_count) : std::nullopt) {
    base::fail(GPUJOIN_ERROR_ILLEGAL_PLAN, "%s", why->c_str());
  }
  bool const cuda = plan.device == plan::Device::kCuda;
  base::Pool& pool = cuda ? *queue.device_pool : *queue.host_pool;

  auto result = std::make_unique<columns::JoinResult>();
  result->context = join.context;
  columns::Statistics& statistics = result->statistics;
  statistics.device = static_cast<gpujoin_device>(plan.device);
  statistics.reason = why_planned(join);
  statistics.left_rows = join.picked ? join.picked->left_rows : join.left->rows;
  statistics.right_rows = join.picked ? join.picked->right_rows : join.right->rows;

  pool.reset_peak();
  uint64_t const held_before = pool.in_use_bytes();
  auto const start = std::chrono::steady_clock::now();
  queue.check_cancelled();
  if (has_keys && !is_asof) {
    statistics.plan = plan::to_text(plan);
  } else {
    statistics.plan = join.choice.predicted().front().technique;
  }
  std::unique_ptr<JoinGroups> groups;
  result->memory = plan::memory_of(plan.device);
  if (join.adds_in_match || join.adds_in_partitions) groups = make_groups(queue, join, *result);
  match(queue, join, *result, groups.get());
  if (join.adds_in_partitions && !result->added) return nullptr;
  if (join.asked().caller_decides) {
    result->undecided = candidates_of(join, *result);
  } else {
    if (is_policy(join.asked().kind)) put_out_kind(queue, join, *result);
    put_out_rows(queue, join, *result);
    if (join.grouped) {
      if (groups == nullptr) groups = make_groups(queue, join, *result);
      groups->put_out();
      check_group_limits(join, *result);
    }
  }
  if (join.picked) {
    name_registered_rows(queue, *join.picked, *result);
    // Clocks of the join's own stages count from the first one on.
    auto const& before = join.picked->stages;
    statistics.stages.insert(statistics.stages.begin(), before.begin(), before.end());
  }
  check_promises(queue, join, *result);
  statistics.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  statistics.peak_memory_bytes = pool.peak_bytes() - held_before;
  if (uint64_t const violations = pool.account().guard_violations(); violations != 0) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%llu buffers were written beyond their ends",
               static_cast<unsigned long long>(violations));
  }
  return result;
}

}  // namespace

std::unique_ptr<columns::JoinResult> execute(base::Queue& queue, const PlannedJoin& join) {
  if (!join.adds_in_partitions) return execute_planned(queue, join);
  try {
    if (auto result = execute_planned(queue, join)) return result;
  } catch (const base::Error& error) {
    if (!is_no_room(error)) throw;
  }
  // With row numbers, from which groups are made without partitions.
  GivenJoin const& given = *join.given;
  return execute(
      queue, make_plan(queue, given.left, given.right, given.spec, given.options, false, false));
}

}  // namespace gpujoin::execute
