// logical_join.cpp: joins of an optimized plan that gpujoin may take.
#include "bindings/duckdb/src/logical_join.hpp"

#include <duckdb/common/enum_util.hpp>
#include <duckdb/common/error_data.hpp>
#include <duckdb/common/string_util.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/main/settings.hpp>
#include <duckdb/planner/operator/logical_comparison_join.hpp>
#include <duckdb/planner/operator/logical_extension_operator.hpp>
#include <optional>

#include "bindings/duckdb/src/decisions.hpp"
#include "bindings/duckdb/src/delim_join.hpp"
#include "bindings/duckdb/src/duckdb_versions.hpp"
#include "bindings/duckdb/src/join_cost.hpp"
#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/physical_join.hpp"

namespace gpujoin_duckdb {

namespace {

using duckdb::ClientContext;
using duckdb::LogicalComparisonJoin;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::PhysicalOperator;

// What GPUJOIN is made of.
struct Plan {
  Context context;
  JoinLayout layout;
  Expectation expectation;
  std::string reason;
};

std::string conditions_of(const LogicalComparisonJoin& join) {
  std::string text;
  for (auto const& condition : join.conditions) {
    if (!text.empty()) text += " AND ";
    if (is_comparison(condition)) {
      text += name_of(left_of(condition)) + " " +
              duckdb::ExpressionTypeToOperator(comparison_of(condition)) + " " +
              name_of(right_of(condition));
    } else {
      text += other_of(condition).ToString();
    }
  }
  return text;
}

// A single join whose second match is to be ignored has no counterpart.
void check_single(ClientContext& client, const LogicalComparisonJoin& join) {
  if (join.join_type != duckdb::JoinType::SINGLE) return;
  if (duckdb::Settings::Get<duckdb::ScalarSubqueryErrorOnMultipleRowsSetting>(client)) return;
  throw Declined{"scalar_subquery_error_on_multiple_rows is off"};
}

// Throws Declined, or what DuckDB throws of a library that refuses it.
Plan plan_of(ClientContext& client, SharedState& shared, const LogicalComparisonJoin& join,
             const Decision& rows) {
  check_single(client, join);
  Plan plan;
  plan.layout = layout_of(join);
  auto const settings = read_settings(client);
  plan.context = context_for(client, shared.contexts, settings);
  Cost const cost = cost_of(plan.context.get(), join, plan.layout, rows.left_rows, rows.right_rows,
                            settings.threads);
  plan.expectation = cost.expectation;
  auto const figures =
      duckdb::StringUtil::Format("%.2f ms expected, %.2f ms of DuckDB's own join",
                                 cost.expectation.milliseconds, cost.duckdb_milliseconds);
  if (settings.is_forced) {
    plan.reason = "forced; " + figures;
  } else if (cost.is_worth_it()) {
    plan.reason = figures;
  } else {
    throw Declined{"not worth it: " + figures};
  }
  // What the library says of a join without rows it says of the join.
  JoinOperation trial(plan.context, plan.layout);
  trial.finish_build();
  return plan;
}

class LogicalGpuJoin final : public duckdb::LogicalExtensionOperator {
 public:
  LogicalGpuJoin(duckdb::unique_ptr<LogicalOperator> join, duckdb::shared_ptr<SharedState> shared)
      : shared_(std::move(shared)) {
    if (join->has_estimated_cardinality) SetEstimatedCardinality(join->estimated_cardinality);
    children.push_back(std::move(join));
  }

  duckdb::vector<duckdb::ColumnBinding> GetColumnBindings() override {
    return children[0]->GetColumnBindings();
  }
  duckdb::string GetName() const override { return "GPUJOIN"; }
  duckdb::string GetExtensionName() const override { return "gpujoin"; }
  bool SupportSerialization() const override { return false; }

  PhysicalOperator& CreatePlan(ClientContext& client,
                               duckdb::PhysicalPlanGenerator& planner) override {
    auto& join = children[0]->Cast<LogicalComparisonJoin>();
    Decision decision;
    decision.join_type = duckdb::EnumUtil::ToString(join.join_type);
    decision.conditions = conditions_of(join);
    decision.left_rows = join.children[0]->EstimateCardinality(client);
    decision.right_rows = join.children[1]->EstimateCardinality(client);
    join.EstimateCardinality(client);
    std::optional<Plan> plan;
    try {
      plan = plan_of(client, *shared_, join, decision);
      decision.is_taken = true;
      decision.reason = plan->reason;
    } catch (const Declined& declined) {
      decision.reason = declined.reason;
    } catch (const duckdb::Exception& refused) {
      decision.reason = duckdb::ErrorData(refused).RawMessage();
    }
    add_decision(client, decision);
    if (!plan) return planner.CreatePlan(*children[0]);
    auto& left = planner.CreatePlan(*join.children[0]);
    auto& right = planner.CreatePlan(*join.children[1]);
    auto& made = planner.Make<PhysicalGpuJoin>(join, left, right, std::move(plan->context),
                                               shared_->interrupts, std::move(plan->layout),
                                               std::move(plan->expectation));
    if (join.type != LogicalOperatorType::LOGICAL_DELIM_JOIN) return made;
    return with_distinct_values(client, planner, join, made);
  }

 protected:
  void ResolveTypes() override { types = children[0]->types; }

 private:
  duckdb::shared_ptr<SharedState> shared_;
};

class Marking {
 public:
  Marking(ClientContext& client, duckdb::shared_ptr<SharedState> shared)
      : client_(client), shared_(std::move(shared)) {}

  void mark(duckdb::unique_ptr<LogicalOperator>& node) {
    if (node->type == LogicalOperatorType::LOGICAL_RECURSIVE_CTE) {
      // Its joins run once for each step, most of them on a handful of rows.
      leave_all(*node, "inside a recursive query");
      return;
    }
    for (auto& child : node->children) mark(child);
    switch (node->type) {
      case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
      case LogicalOperatorType::LOGICAL_DELIM_JOIN:
        begin();
        node = duckdb::make_uniq<LogicalGpuJoin>(std::move(node), shared_);
        break;
      case LogicalOperatorType::LOGICAL_ASOF_JOIN:
        leave(*node, "an ASOF join");
        break;
      case LogicalOperatorType::LOGICAL_ANY_JOIN:
        leave(*node, "no key: no condition is an equality");
        break;
      default:
        break;
    }
  }

 private:
  void begin() {
    if (!has_begun_) forget_decisions(client_);
    has_begun_ = true;
  }

  void leave(const LogicalOperator& node, const char* reason) {
    begin();
    Decision decision;
    decision.join_type = node.GetName();
    decision.reason = reason;
    add_decision(client_, decision);
  }

  void leave_all(const LogicalOperator& node, const char* reason) {
    if (node.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN ||
        node.type == LogicalOperatorType::LOGICAL_DELIM_JOIN) {
      leave(node, reason);
    }
    for (auto const& child : node.children) leave_all(*child, reason);
  }

  ClientContext& client_;
  duckdb::shared_ptr<SharedState> shared_;
  bool has_begun_ = false;
};

}  // namespace

void mark_joins(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  if (!read_settings(input.context).is_enabled) return;
  auto& shared = static_cast<SharedState&>(*input.info);
  Marking(input.context, shared.shared_from_this()).mark(plan);
}

}  // namespace gpujoin_duckdb
