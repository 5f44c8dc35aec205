// make_plan.cpp: from relations and a join specification to a planned join.
#include <algorithm>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/conditions/bind.hpp"
#include "src/execute/aggregate.hpp"
#include "src/execute/condition_columns.hpp"
#include "src/execute/decide.hpp"
#include "src/execute/derive_keys.hpp"
#include "src/execute/encode_keys.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/glance.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/late_payloads.hpp"
#include "src/execute/late_spec.hpp"
#include "src/execute/order_rows.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/planned_groups.hpp"
#include "src/execute/promises.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/selected.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/execute/without_equality.hpp"
#include "src/plan/attempts.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::execute {

namespace {

// Whether a column that the join reads lies in such memory.
bool any_column(const columns::Relation& relation, const std::vector<int32_t>& keys,
                const std::vector<int32_t>& output_columns, base::Memory memory) {
  auto const lies_there = [&](int32_t column) {
    return relation.columns[static_cast<size_t>(column)].memory == memory;
  };
  return std::any_of(keys.begin(), keys.end(), lies_there) ||
         std::any_of(output_columns.begin(), output_columns.end(), lies_there);
}

// Why the CPU executor cannot join them; null: it can.
const char* why_not_on_cpu(const columns::Relation& left, const columns::Relation& right,
                           const columns::JoinSpec& spec) {
  auto const ordered = [&](bool of_left) {
    if (!spec.asof) return std::vector<int32_t>();
    return std::vector<int32_t>{of_left ? spec.asof->left_column : spec.asof->right_column};
  };
  auto const by_condition = [&](bool of_left) {
    return spec.residual != nullptr ? columns::columns_read(*spec.residual, of_left)
                                    : std::vector<int32_t>();
  };
  if (any_column(left, spec.left_keys, columns_read(spec, true), base::Memory::kDevice) ||
      any_column(right, spec.right_keys, columns_read(spec, false), base::Memory::kDevice) ||
      any_column(left, ordered(true), by_condition(true), base::Memory::kDevice) ||
      any_column(right, ordered(false), by_condition(false), base::Memory::kDevice)) {
    return "a CPU plan cannot read device memory";
  }
  if (left.ready_event != nullptr || right.ready_event != nullptr) {
    return "a CPU plan cannot wait for the sync_event of a device array";
  }
  for (const columns::Relation* side : {&left, &right}) {
    for (; side->selection != nullptr; side = side->selection->of.get()) {
      if (is_device(side->selection->memory)) {
        return "a CPU plan cannot read a selection in device memory";
      }
    }
  }
  return nullptr;
}

void check_device(const base::Context& context, const gpujoin_plan_options& options,
                  plan::Device device, const columns::Relation& left,
                  const columns::Relation& right, const columns::JoinSpec& spec) {
  if (options.device == GPUJOIN_DEVICE_CUDA && !context.is_cuda()) {
    base::fail(GPUJOIN_ERROR_NO_DEVICE, "options: a CUDA plan needs a CUDA context: %s",
               context.reason.c_str());
  }
  if (device != plan::Device::kCpu) return;
  if (const char* const why = why_not_on_cpu(left, right, spec)) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "options: %s", why);
  }
}

std::shared_ptr<const conditions::BoundCondition> naming_registered_rows(
    const conditions::BoundCondition& condition, const PickedSides& sides) {
  auto made = std::make_shared<conditions::BoundCondition>(condition);
  made->registered_row = [left = sides.left, right = sides.right](base::Queue* queue, bool of_left,
                                                                  uint32_t row) {
    auto const& origin = of_left ? left : right;
    return origin != nullptr ? as_registered(queue, *origin, row) : row;
  };
  return made;
}

plan::ResidualReads reads_of(const PlannedJoin& join) {
  plan::ResidualReads reads;
  reads.are_values = reads_values(*join.residual, *join.left, *join.right);
  for (conditions::BoundColumn const& read : join.residual->columns) {
    columns::Relation const& relation = read.of_left ? *join.left : *join.right;
    // Of text as many as a short one has.
    constexpr int32_t kTextBytes = 16;
    int32_t const width = relation.columns[static_cast<size_t>(read.column)].width;
    (read.of_left ? reads.left : reads.right) += width == 0 ? kTextBytes : width;
  }
  return reads;
}

void pick_sides(base::Queue& queue, plan::Device device, const columns::JoinSpec& spec,
                QueuedStages& stages, PlannedJoin* join) {
  if (join->left->selection == nullptr && join->right->selection == nullptr) return;
  PickedSides sides;
  sides.left_rows = join->left->rows;
  sides.right_rows = join->right->rows;
  base::DeviceFacts const& facts = join->context->facts;
  bool const as_without_gpu = device == plan::Device::kCpu && facts.is_cuda;
  SidesOfJoin const read = sides_of(*join->left, *join->right, spec, join->request.options, device,
                                    as_without_gpu ? base::cpu_facts(facts.cpu_threads) : facts);
  for (bool const left : {true, false}) {
    auto& relation = left ? join->left : join->right;
    if (relation->selection == nullptr) continue;
    std::string note;
    (left ? sides.of_left : sides.of_right) = columns::as_registered(relation);
    relation = picked(queue, device, relation, left ? read.left : read.right, stages, &note);
    (left ? sides.left : sides.right) = relation->origin;
    sides.note += std::string(left ? "  left   " : "  right  ") + note + "\n";
  }
  stages.stop();
  join->picked = std::move(sides);
}

}  // namespace

bool may_leave_device(const base::Context& context, const GivenJoin& given) {
  return context.is_cuda() && given.options.device == GPUJOIN_DEVICE_AUTOMATIC &&
         !plan::names_how(given.options) &&
         why_not_on_cpu(*given.left, *given.right, given.spec) == nullptr;
}

plan::SideStatistics describe_side(const columns::Relation& relation,
                                   const std::vector<int32_t>& keys,
                                   const std::vector<int32_t>& output_columns, bool materialize) {
  plan::SideStatistics side;
  side.rows = relation.rows;
  side.in_host_memory = any_column(relation, keys, output_columns, base::Memory::kHost) ||
                        any_column(relation, keys, output_columns, base::Memory::kPinned);
  side.key_width = 0;
  for (int32_t const key : keys) {
    columns::ColumnView const& key_column = relation.columns[static_cast<size_t>(key)];
    side.key_width += key_column.width;
    side.key_nullable = side.key_nullable || key_column.validity != nullptr;
  }
  if (materialize) {
    for (int32_t const column : output_columns) {
      if (std::find(keys.begin(), keys.end(), column) != keys.end()) {
        side.key_is_output = true;
      } else {
        columns::ColumnView const& payload = relation.columns[static_cast<size_t>(column)];
        side.payload_widths.push_back(payload.width);
        // Validity moves as a column of bytes.
        if (payload.validity == nullptr) continue;
        side.payload_widths.push_back(1);
        ++side.validities;
      }
    }
  }
  return side;
}

void PlannedJoin::take(const plan::Candidate& candidate) {
  choice.attempts = plan::attempts_of(candidate, choice.candidates, request, choice.sample,
                                      context->facts, choice.memory_limit_bytes);
}

// The text is made for those who listen: it takes a microsecond of a small join's thirty.
void log_choice(const base::Context& context, const plan::PlanChoice& choice) {
  if (context.log_function == nullptr) return;
  context.log(GPUJOIN_LOG_INFO,
              "plan: " + plan::to_text(choice.plan()) + "; " + plan::reason_of(choice));
}

std::string explain(const PlannedJoin& join) {
  std::string text = plan::explain(join.choice, join.request, join.context->facts);
  if (!ordering_side(join)) return text;
  auto const pairs = static_cast<uint64_t>(std::max<int64_t>(join.choice.plan().expected_rows, 0));
  plan::StageCost const cost = order_cost(join, join.context->facts, pairs);
  return text + base::text("order: %.3f ms\n  rows by %s, then their columns by row number\n",
                           cost.seconds * 1e3, cost.technique);
}

plan::SampleStatistics sample_sides(base::Queue& queue, const PlannedJoin& join,
                                    plan::Device device, plan::SampleEffort effort) {
  bool const build_left = plan::build_side_of(join.request) == plan::Side::kLeft;
  auto const& build = build_left ? *join.left : *join.right;
  auto const& probe = build_left ? *join.right : *join.left;
  int32_t const build_key = (build_left ? join.spec.left_keys : join.spec.right_keys).front();
  int32_t const probe_key = (build_left ? join.spec.right_keys : join.spec.left_keys).front();
  plan::SampleFindings const found =
      device == plan::Device::kCpu
          ? sample_on_cpu(queue, build, build_key, probe, probe_key)
          : sample_on_gpu(queue, build, build_key, probe, probe_key, effort);
  return plan::statistics_of(found, build.rows, probe.rows);
}

// Which plan it is. Looks at keys where that is worth it.
void choose(base::Queue& queue, plan::Device device, bool is_explained, PlannedJoin* planned) {
  PlannedJoin& join = *planned;
  plan::PlanRequest const& request = join.request;
  bool const on_cpu_plan = device == plan::Device::kCpu;
  if (join.asked().kind == columns::JoinKind::kCross) {
    join.choice = plan::choose_cross(request, device);
    return;
  }
  if (join.spec.asof) {
    join.choice = plan::choose_asof(request, device, join.context->facts);
    return;
  }
  if (is_without_equality(join.asked())) {
    plan_without_equality(queue, device, &join);
    return;
  }
  uint64_t const limit = on_cpu_plan ? join.context->host_account->limit_bytes()
                                     : join.context->device_account->limit_bytes();
  base::DeviceFacts const& facts = join.context->facts;
  plan::SampleEffort const effort = plan::sample_effort(request, facts);
  if (effort == plan::SampleEffort::kNone) {
    if (!on_cpu_plan && request.key_count > 1) choose_encoding(queue, {}, &join);
    join.choice = plan::choose_plan_unseen(request, facts, limit, is_explained);
    glance(queue, limit, is_explained, &join);
  } else {
    plan::SampleStatistics const sample = sample_sides(queue, join, device, effort);
    if (!on_cpu_plan) choose_encoding(queue, sample, &join);
    bool const is_read = is_explained || join.context->log_function != nullptr;
    join.choice = plan::choose_plan(request, sample, facts, limit, is_read);
  }
}

// Partitions add groups up. Parts of a direct table, which may be the faster join, do not.
void leave_parts(PlannedJoin* join) {
  auto const in_parts = [](const plan::JoinPlan& plan) {
    return plan.transform == plan::Transform::kWriteCombined;
  };
  if (!in_parts(join->choice.plan())) return;
  std::vector<plan::Candidate> const& candidates = join->choice.candidates;
  auto const other = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const auto& candidate) { return !in_parts(candidate.plan); });
  if (other != candidates.end()) join->take(*other);
}

PlannedJoin make_plan(base::Queue& queue, std::shared_ptr<const columns::Relation> left,
                      std::shared_ptr<const columns::Relation> right, columns::JoinSpec spec,
                      const gpujoin_plan_options& options, bool is_explained, bool in_partitions) {
  PlannedJoin join;
  join.context = queue.context.shared_from_this();
  join.left = std::move(left);
  join.right = std::move(right);
  join.request.options = options;
  join.bounds = spec.bounds;
  if (is_explained || !spec.aggregates.empty()) {
    join.given = std::make_shared<const GivenJoin>(GivenJoin{join.left, join.right, spec, options});
  }
  plan::Device const device = plan::device_of(join.request, join.context->facts);
  check_device(*join.context, options, device, *join.left, *join.right, spec);
  std::vector<columns::StageStatistics> picking;
  QueuedStages stages(queue, picking);
  pick_sides(queue, device, spec, stages, &join);
  // What samples pairs has stages of its own.
  if (is_without_equality(spec)) stages.finish();
  if (spec.bounds.promises != 0) {
    join.promised = spec;
    check_sorted(queue, device, join, spec);
  }
  if (!spec.aggregates.empty()) {
    join.grouped = spec;
    spec_rows_of_groups(device, in_partitions, &join, &spec);
    // Groups are what is limited, and what comes in an order.
    spec.order = columns::RowOrder::kNone;
    spec.bounds.row_limit = 0;
    spec.bounds.byte_limit = 0;
  }
  if (device == plan::Device::kCpu) join.late_twins = twins_of(*join.left, *join.right, spec);
  if (!spec.of_kept) make_comparable(queue, device, &join.left, &join.right, &spec);
  // Keys of 8 bytes take longer to look up in order than their text then saves.
  auto const is_wide = [&](int32_t key) {
    return join.left->columns[static_cast<size_t>(key)].width > 4;
  };
  if (spec.left_keys.size() > 1 ||
      std::any_of(spec.left_keys.begin(), spec.left_keys.end(), is_wide)) {
    join.late_twins.clear();
  }
  if (has_late_columns(*join.left, *join.right, spec)) {
    join.late = spec;
    spec = spec_without_late(*join.left, *join.right, spec, join.late_twins);
  }
  if (spec.residual != nullptr) {
    join.residual = conditions::bind(*spec.residual, *join.left, *join.right);
    if (join.picked) join.residual = naming_registered_rows(*join.residual, *join.picked);
  }
  if (spec.caller_decides) {
    join.spec = candidates_of(spec);
    join.of_kind = std::move(spec);
  } else if (is_policy(spec.kind)) {
    join.spec = inner_spec_of(spec, !spec.asof && options.transfer != GPUJOIN_TRANSFER_PROBE_CHUNKS,
                              spec.of_kept && device == plan::Device::kCpu);
    join.of_kind = std::move(spec);
  } else {
    join.spec = std::move(spec);
  }
  join.spec.bounds.row_limit = early_row_limit(join);
  join.spec.bounds.byte_limit = 0;

  plan::PlanRequest& request = join.request;
  request.kind = join.asked().kind;
  request.joins_pairs =
      join.asked().caller_decides || (join.asked().of_kept && device == plan::Device::kCuda);
  request.left =
      describe_side(*join.left, join.spec.left_keys, join.spec.left_columns, join.spec.materialize);
  request.right = describe_side(*join.right, join.spec.right_keys, join.spec.right_columns,
                                join.spec.materialize);
  // A residual looks at the rows of pairs, whoever wants to see them.
  if (join.residual != nullptr) request.residual = reads_of(join);
  request.pairs = join.spec.pairs || request.residual;
  request.in_order = join.spec.in_order;
  request.key_count = static_cast<int32_t>(join.spec.left_keys.size());
  request.left.row_numbers = join.spec.left_rows() || request.residual;
  request.right.row_numbers = join.spec.right_rows() || request.residual;

  choose(queue, device, is_explained, &join);
  if (join.adds_in_partitions) leave_parts(&join);
  if (join.picked) {
    stages.finish();
    // Other queues may execute the plan.
    base::finish(queue);
    join.picked->stages = std::move(picking);
  }
  if (join.adds_in_partitions && !is_plan_of_groups(join)) {
    return make_plan(queue, join.given->left, join.given->right, join.given->spec, options,
                     is_explained, false);
  }
  if (join.promised) check_unique_when_planned(queue, join);
  log_choice(*join.context, join.choice);
  return join;
}

}  // namespace gpujoin::execute
