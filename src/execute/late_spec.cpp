#include "src/execute/late_spec.hpp"

#include <algorithm>

#include "src/columns/selection.hpp"
#include "src/execute/order_rows.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::JoinSpec;
using columns::Layout;
using columns::Relation;

bool is_moved_by_joins(const Relation& relation, int32_t column) {
  return columns::is_moved_as_values(relation.columns[static_cast<size_t>(column)].layout);
}

bool is_left_behind(const Relation& relation, int32_t column) {
  auto const number = static_cast<size_t>(column);
  return relation.origin != nullptr && number < relation.origin->is_copied.size() &&
         !relation.origin->is_copied[number];
}

bool is_late(const JoinSpec& spec, const Relation& relation, int32_t column) {
  return orders_pairs(spec) || !is_moved_by_joins(relation, column) ||
         is_left_behind(relation, column);
}

const LateTwin* twin_of(const std::vector<LateTwin>& twins, bool left, int32_t column) {
  for (LateTwin const& twin : twins) {
    if (twin.of_left == left && twin.column == column) return &twin;
  }
  return nullptr;
}

bool are_numbers_columns(const Relation& left, const Relation& right, const JoinSpec& spec) {
  if (spec.pairs || spec.caller_decides || orders_pairs(spec)) return false;
  for (bool const of_left : {true, false}) {
    Relation const& relation = of_left ? left : right;
    bool const may_miss = comes_unmatched(rows_of(spec, !of_left));
    for (int32_t const column : of_left ? spec.left_columns : spec.right_columns) {
      if (!is_late(spec, relation, column)) continue;
      if (may_miss || !is_moved_by_joins(relation, column)) return false;
    }
  }
  return true;
}

namespace {

bool any_late(const JoinSpec& spec, const Relation& relation, const std::vector<int32_t>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](int32_t column) { return is_late(spec, relation, column); });
}

// Whether a late column is fetched from the side, its own or one of the other's.
bool fetches_any(const JoinSpec& spec, const Relation& relation, bool left,
                 const std::vector<LateTwin>& twins) {
  auto const& columns = left ? spec.left_columns : spec.right_columns;
  auto const is_of_side = [&](const LateTwin& twin) { return twin.of_left != left; };
  return std::any_of(twins.begin(), twins.end(), is_of_side) ||
         std::any_of(columns.begin(), columns.end(), [&](int32_t column) {
           return is_late(spec, relation, column) && twin_of(twins, left, column) == nullptr;
         });
}

std::vector<int32_t> early_of(const JoinSpec& spec, const Relation& relation,
                              const std::vector<int32_t>& columns) {
  std::vector<int32_t> early;
  for (int32_t const column : columns) {
    if (!is_late(spec, relation, column)) early.push_back(column);
  }
  return early;
}

}  // namespace

bool has_late_columns(const Relation& left, const Relation& right, const JoinSpec& spec) {
  return any_late(spec, left, spec.left_columns) || any_late(spec, right, spec.right_columns);
}

std::vector<LateTwin> twins_of(const Relation& left, const Relation& right, const JoinSpec& spec) {
  std::vector<LateTwin> twins;
  if (spec.kind != columns::JoinKind::kInner || left.rows == right.rows) return twins;
  if (orders_pairs(spec)) return twins;
  bool const of_left = left.rows < right.rows;
  std::vector<int32_t> const& wanted = of_left ? spec.left_columns : spec.right_columns;
  for (size_t i = 0; i < spec.left_keys.size(); ++i) {
    ColumnView const& one = left.columns[static_cast<size_t>(spec.left_keys[i])];
    ColumnView const& other = right.columns[static_cast<size_t>(spec.right_keys[i])];
    if (one.layout != Layout::kText || other.layout != Layout::kText) continue;
    if (one.type != other.type || one.arrow_format != other.arrow_format) continue;
    LateTwin const twin{of_left, of_left ? spec.left_keys[i] : spec.right_keys[i],
                        of_left ? spec.right_keys[i] : spec.left_keys[i]};
    if (std::find(wanted.begin(), wanted.end(), twin.column) != wanted.end()) twins.push_back(twin);
  }
  return twins;
}

bool fetches_text(const PlannedJoin& join, bool left) {
  if (!join.late) return false;
  auto const is_of_side = [&](const LateTwin& twin) { return twin.of_left != left; };
  if (std::any_of(join.late_twins.begin(), join.late_twins.end(), is_of_side)) return true;
  Relation const& relation = left ? *join.left : *join.right;
  std::vector<int32_t> const& wanted = left ? join.late->left_columns : join.late->right_columns;
  return std::any_of(wanted.begin(), wanted.end(), [&](int32_t column) {
    return relation.columns[static_cast<size_t>(column)].layout == Layout::kText &&
           twin_of(join.late_twins, left, column) == nullptr;
  });
}

JoinSpec spec_without_late(const Relation& left, const Relation& right, const JoinSpec& asked,
                           const std::vector<LateTwin>& twins) {
  JoinSpec spec = asked;
  spec.left_columns = early_of(asked, left, asked.left_columns);
  spec.right_columns = early_of(asked, right, asked.right_columns);
  if (are_numbers_columns(left, right, asked)) {
    if (any_late(asked, left, asked.left_columns)) {
      spec.left_columns.push_back(left.origin->number_column);
    }
    if (any_late(asked, right, asked.right_columns)) {
      spec.right_columns.push_back(right.origin->number_column);
    }
    return spec;
  }
  spec.materialize = !spec.left_columns.empty() || !spec.right_columns.empty();
  spec.pairs = true;
  // Rows are put in order by both numbers.
  if (asked.pairs || asked.kind != columns::JoinKind::kInner || orders_pairs(asked)) return spec;
  bool const of_left = fetches_any(asked, left, true, twins);
  bool const of_right = fetches_any(asked, right, false, twins);
  if (of_left != of_right) {
    spec.pair_sides = of_left ? columns::PairSides::kLeft : columns::PairSides::kRight;
  }
  return spec;
}

}  // namespace gpujoin::execute
