#include "src/execute/planned_groups.hpp"

#include <algorithm>

#include "src/execute/aggregate.hpp"
#include "src/execute/aggregate_types.hpp"
#include "src/keys/derived_key.hpp"

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

}  // namespace

bool has_own_ordinals(const ColumnView& column) {
  return &keys::values_of(column) == &column && has_ordinals(column);
}

PlannedGroups plan_groups(const JoinSpec& asked, const Relation& left, const Relation& right) {
  return Planner(asked, left, right).plan();
}

void spec_rows_of_groups(plan::Device device, PlannedJoin* join, JoinSpec* spec) {
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
  bool left_rows = join->grouped->groups == Groups::kLeft;
  bool right_rows = join->grouped->groups == Groups::kRight;
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
  spec->materialize = !spec->left_columns.empty() || !spec->right_columns.empty();
  // The device's matches write something.
  if (!on_cpu && !spec->materialize && !right_rows) left_rows = true;
  spec->pairs = left_rows || right_rows;
  spec->pair_sides = PairSides::kBoth;
  if (left_rows != right_rows) {
    spec->pair_sides = left_rows ? PairSides::kLeft : PairSides::kRight;
  }
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
