#include "src/execute/planned_groups.hpp"

#include <algorithm>

#include "src/execute/aggregate.hpp"
#include "src/execute/aggregate_types.hpp"
#include "src/keys/derived_key.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::execute {

namespace {

using columns::Aggregate;
using columns::ColumnView;
using columns::Groups;
using columns::JoinSpec;
using columns::PairSides;
using columns::Relation;
using kernels::StateKind;

class Planner {
 public:
  Planner(const JoinSpec& asked, const Relation& left, const Relation& right)
      : asked_(asked), left_(left), right_(right) {}

  PlannedGroups plan() {
    rows_state();
    for (Aggregate const& aggregate : asked_.aggregates) {
      planned_.outputs.push_back(output_of(aggregate));
    }
    return std::move(planned_);
  }

 private:
  PlannedGroups::Output output_of(const Aggregate& aggregate) {
    switch (aggregate.function) {
      case GPUJOIN_FUNCTION_COUNT_ROWS:
        return {rows_state(), 0};
      case GPUJOIN_FUNCTION_EXISTS:
        return {exists_state(), 0};
      case GPUJOIN_FUNCTION_COUNT:
        return {seen_state(aggregate), 0};
      default: {
        size_t const value = value_state(aggregate);
        return {value, seen_state(aggregate)};
      }
    }
  }

  size_t state(PlannedState wanted) {
    auto& states = planned_.states;
    auto const found = std::find(states.begin(), states.end(), wanted);
    if (found != states.end()) return static_cast<size_t>(found - states.begin());
    states.push_back(wanted);
    return states.size() - 1;
  }
  size_t rows_state() { return state({}); }
  // Of groups, whether there is a row of the other side.
  size_t exists_state() {
    if (asked_.groups == Groups::kAll) return rows_state();
    bool const by_left = asked_.groups == Groups::kLeft;
    if (!comes_unmatched(rows_of(asked_, by_left))) return rows_state();
    return state({StateKind::kRows, state_of_side(!by_left), -1});
  }
  // Rows in which the column is not NULL.
  size_t seen_state(const Aggregate& aggregate) {
    ColumnView const& column = column_of(aggregate);
    bool const is_missing = comes_unmatched(rows_of(asked_, !aggregate.of_left));
    bool const may_be_null = column.validity != nullptr || &keys::values_of(column) != &column ||
                             column.layout == columns::Layout::kNulls;
    if (!is_missing && !may_be_null) return rows_state();
    return state({StateKind::kRows, state_of_side(aggregate.of_left), aggregate.column});
  }
  size_t value_state(const Aggregate& aggregate) {
    ColumnView const& column = column_of(aggregate);
    bool const is_least = aggregate.function == GPUJOIN_FUNCTION_MIN;
    StateKind kind = StateKind::kAnyRow;
    switch (aggregate.function) {
      case GPUJOIN_FUNCTION_SUM:
      case GPUJOIN_FUNCTION_AVG: {
        auto const form = numbers_of(keys::values_of(column)).form;
        kind = form == kernels::NumberForm::kFloat ? StateKind::kFloatSum : StateKind::kSum;
        break;
      }
      case GPUJOIN_FUNCTION_MIN:
      case GPUJOIN_FUNCTION_MAX:
        if (has_own_ordinals(column)) {
          kind = is_least ? StateKind::kLeast : StateKind::kGreatest;
        } else {
          kind = is_least ? StateKind::kLeastRow : StateKind::kGreatestRow;
        }
        break;
      default:
        break;
    }
    return state({kind, state_of_side(aggregate.of_left), aggregate.column});
  }
  const ColumnView& column_of(const Aggregate& aggregate) const {
    return (aggregate.of_left ? left_ : right_).columns[static_cast<size_t>(aggregate.column)];
  }

  const JoinSpec& asked_;
  const Relation& left_;
  const Relation& right_;
  PlannedGroups planned_;
};

bool is_moved(const ColumnView& column) { return column.layout == columns::Layout::kValues; }

bool is_of_rows(const PlannedState& state, const ColumnView& column) {
  bool const is_counted = state.kind == StateKind::kRows && !is_moved(column);
  return kernels::keeps_row(state.kind) || is_counted;
}

// A match adds what it moves, and row numbers; dictionaries would have to be values before.
bool can_match_add(const PlannedGroups& planned, const PlannedJoin& join) {
  for (PlannedState const& state : planned.states) {
    if (state.column < 0) continue;
    Relation const& relation = state.of == StateOf::kLeft ? *join.left : *join.right;
    ColumnView const& column = relation.columns[static_cast<size_t>(state.column)];
    if (!is_of_rows(state, column) && !is_moved(column)) return false;
  }
  return true;
}

void add_column(int32_t column, std::vector<int32_t>* columns) {
  if (std::find(columns->begin(), columns->end(), column) == columns->end()) {
    columns->push_back(column);
  }
}

// Sides below which tables join them in less time than a second plan takes, where nobody names
// partitions.
constexpr int64_t kFewestRowsOfPartitions = int64_t{1} << 21;
// Group columns of one launch.
constexpr size_t kMostGroupColumns = 12;
// Rows of a key that one block may have to itself.
constexpr double kMostRowsOfKey = 1 << 19;

// Integers of 4 bytes or fewer, without NULLs, that are no key: it does not travel beside itself.
bool can_partitions_sum(const PlannedState& state, const PlannedJoin& join) {
  bool const of_left = state.of == StateOf::kLeft;
  ColumnView const& column =
      (of_left ? *join.left : *join.right).columns[static_cast<size_t>(state.column)];
  auto const& keys = of_left ? join.grouped->left_keys : join.grouped->right_keys;
  // Decimals have more digits than a sum of 8 bytes.
  bool const is_integer = is_moved(column) && column.parts == nullptr && column.width <= 4;
  return state.kind == StateKind::kSum && is_integer && column.validity == nullptr &&
         std::find(keys.begin(), keys.end(), state.column) == keys.end();
}

bool can_partitions_add(const PlannedGroups& planned, const PlannedJoin& join) {
  JoinSpec const& asked = *join.grouped;
  size_t sums[2] = {};
  for (PlannedState const& state : planned.states) {
    if (state.column < 0 && state.of == StateOf::kOutput) continue;
    if (state.column < 0 || !can_partitions_sum(state, join)) return false;
    ++sums[state.of == StateOf::kLeft ? 0 : 1];
  }
  bool const has_few_sums =
      sums[0] <= kernels::kMostGroupSums && sums[1] <= kernels::kMostGroupSums;
  bool const is_large =
      join.left->rows >= kFewestRowsOfPartitions && join.right->rows >= kFewestRowsOfPartitions;
  size_t const columns = asked.left_columns.size() + asked.right_columns.size();
  return asked.groups != Groups::kAll && has_few_sums && columns <= kMostGroupColumns &&
         asked.order == columns::RowOrder::kNone &&
         (is_large || plan::names_technique(join.request.options));
}

// Groups with the columns that come with them; the others by the numbers of their rows.
void spec_groups_of_partitions(PlannedJoin* join, JoinSpec* spec) {
  JoinSpec const& asked = *join->grouped;
  bool const by_left = asked.groups == Groups::kLeft;
  Relation const& relation = by_left ? *join->left : *join->right;
  bool all_come = true;
  for (int32_t const column : by_left ? asked.left_columns : asked.right_columns) {
    bool const comes = comes_with_group(relation.columns[static_cast<size_t>(column)]);
    if (comes) (by_left ? spec->left_columns : spec->right_columns).push_back(column);
    all_come = all_come && comes;
  }
  spec->pairs = asked.pairs || !all_come;
  spec->pair_sides = by_left ? PairSides::kLeft : PairSides::kRight;
  // Who names nothing gets partitions, which other plans would have to fetch by row number.
  if (!plan::names_technique(join->request.options)) {
    join->request.options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
  }
}

}  // namespace

bool has_own_ordinals(const ColumnView& column) {
  return &keys::values_of(column) == &column && has_ordinals(column);
}

PlannedGroups plan_groups(const JoinSpec& asked, const Relation& left, const Relation& right) {
  return Planner(asked, left, right).plan();
}

bool comes_with_group(const ColumnView& column) {
  return is_moved(column) && column.validity == nullptr;
}

void spec_rows_of_groups(plan::Device device, bool in_partitions, PlannedJoin* join,
                         JoinSpec* spec) {
  *spec = spec_of_rows(*join->grouped);
  bool const is_plain = spec->kind == columns::JoinKind::kInner && !spec->left_keys.empty() &&
                        !spec->asof.has_value();
  bool const on_cpu = device == plan::Device::kCpu;
  bool const in_chunks = join->request.options.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS;
  // The device filters pairs.
  if (!is_plain || in_chunks || (!on_cpu && spec->residual != nullptr)) return;
  PlannedGroups const planned = plan_groups(*join->grouped, *join->left, *join->right);
  if (!can_match_add(planned, *join)) return;
  (on_cpu ? join->adds_in_match : join->adds_columns) = true;
  join->adds_in_partitions = !on_cpu && in_partitions && can_partitions_add(planned, *join);
  bool left_rows = join->grouped->groups == Groups::kLeft;
  bool right_rows = join->grouped->groups == Groups::kRight;
  if (join->adds_in_partitions) spec_groups_of_partitions(join, spec);
  for (PlannedState const& state : planned.states) {
    if (state.column < 0) continue;
    bool const of_left = state.of == StateOf::kLeft;
    Relation const& relation = of_left ? *join->left : *join->right;
    if (is_of_rows(state, relation.columns[static_cast<size_t>(state.column)])) {
      (of_left ? left_rows : right_rows) = true;
    } else {
      add_column(state.column, of_left ? &spec->left_columns : &spec->right_columns);
    }
  }
  // The device's matches count rows of no column.
  spec->materialize = !on_cpu || !spec->left_columns.empty() || !spec->right_columns.empty();
  if (join->adds_in_partitions) return;
  spec->pairs = left_rows || right_rows;
  spec->pair_sides = PairSides::kBoth;
  if (left_rows != right_rows) {
    spec->pair_sides = left_rows ? PairSides::kLeft : PairSides::kRight;
  }
}

bool is_plan_of_groups(const PlannedJoin& join) {
  plan::JoinPlan const& plan = join.choice.plan();
  plan::SampleStatistics const& sample = join.choice.sample;
  bool const build_left = plan.build_side == plan::Side::kLeft;
  auto const rows_of_key = [&](bool left) {
    double const share = left == build_left ? sample.heaviest_build_key : sample.heaviest_probe_key;
    return share * static_cast<double>((left ? *join.left : *join.right).rows);
  };
  bool const is_even = rows_of_key(true) <= kMostRowsOfKey && rows_of_key(false) <= kMostRowsOfKey;
  return plan.transform == plan::Transform::kRadixUnordered &&
         plan.gather == plan::Gather::kCarried && plan.keys == plan::Keys::kPlain &&
         plan.transfer != plan::Transfer::kProbeChunks && is_even;
}

std::vector<SumOfPartitions> sums_of_partitions(const PlannedJoin& join,
                                                const PlannedGroups& planned, bool of_left) {
  std::vector<SumOfPartitions> sums;
  auto const& columns = of_left ? join.spec.left_columns : join.spec.right_columns;
  Relation const& relation = of_left ? *join.left : *join.right;
  for (size_t i = 0; i < planned.states.size(); ++i) {
    PlannedState const& state = planned.states[i];
    if (state.of != state_of_side(of_left) || state.column < 0) continue;
    auto const place = std::find(columns.begin(), columns.end(), state.column) - columns.begin();
    sums.push_back(
        {i, static_cast<size_t>(place), relation.columns[static_cast<size_t>(state.column)]});
  }
  return sums;
}

AddedByMatch added_by_match(const PlannedJoin& join, const PlannedGroups& planned) {
  JoinSpec const& spec = join.spec;
  int32_t const left_rows = 0;
  int32_t const right_rows = spec.left_rows() ? 1 : 0;
  int32_t const left_columns = right_rows + (spec.right_rows() ? 1 : 0);
  auto const right_columns = left_columns + static_cast<int32_t>(spec.left_columns.size());
  AddedByMatch added;
  if (join.grouped->groups != Groups::kAll) {
    added.groups = join.grouped->groups == Groups::kLeft ? left_rows : right_rows;
  }
  for (PlannedState const& state : planned.states) {
    bool const of_left = state.of == StateOf::kLeft;
    Relation const& relation = of_left ? *join.left : *join.right;
    if (state.column < 0) {
      added.of_states.push_back(-1);
    } else if (is_of_rows(state, relation.columns[static_cast<size_t>(state.column)])) {
      added.of_states.push_back(of_left ? left_rows : right_rows);
    } else {
      auto const& columns = of_left ? spec.left_columns : spec.right_columns;
      auto const place = std::find(columns.begin(), columns.end(), state.column) - columns.begin();
      added.of_states.push_back((of_left ? left_columns : right_columns) +
                                static_cast<int32_t>(place));
    }
  }
  return added;
}

}  // namespace gpujoin::execute
