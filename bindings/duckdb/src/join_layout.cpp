// join_layout.cpp: one join of DuckDB's as the library is asked for it.
#include "bindings/duckdb/src/join_layout.hpp"

#include <algorithm>
#include <duckdb/common/enum_util.hpp>
#include <duckdb/planner/expression_iterator.hpp>

#include "bindings/duckdb/src/duckdb_versions.hpp"
#include "bindings/duckdb/src/residual.hpp"

namespace gpujoin_duckdb {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::JoinType;

constexpr size_t most_keys = 16;

// The build side is DuckDB's: the right one.
gpujoin_join_kind kind_of(JoinType type) {
  switch (type) {
    case JoinType::INNER:
      return GPUJOIN_JOIN_INNER;
    case JoinType::LEFT:
      return GPUJOIN_JOIN_LEFT;
    case JoinType::RIGHT:
      return GPUJOIN_JOIN_RIGHT;
    case JoinType::OUTER:
      return GPUJOIN_JOIN_FULL;
    case JoinType::SEMI:
      return GPUJOIN_JOIN_LEFT_SEMI;
    case JoinType::ANTI:
      return GPUJOIN_JOIN_LEFT_ANTI;
    case JoinType::RIGHT_SEMI:
      return GPUJOIN_JOIN_RIGHT_SEMI;
    case JoinType::RIGHT_ANTI:
      return GPUJOIN_JOIN_RIGHT_ANTI;
    case JoinType::MARK:
      return GPUJOIN_JOIN_LEFT_MARK;
    case JoinType::SINGLE:
      return GPUJOIN_JOIN_LEFT_SINGLE;
    default:
      throw Declined{"a join of type " + duckdb::EnumUtil::ToString(type)};
  }
}

bool is_equality(const duckdb::JoinCondition& condition) {
  return is_comparison(condition) &&
         (comparison_of(condition) == ExpressionType::COMPARE_EQUAL ||
          comparison_of(condition) == ExpressionType::COMPARE_NOT_DISTINCT_FROM);
}

void add_key(JoinLayout& layout, const duckdb::JoinCondition& condition) {
  auto const& type = type_of(left_of(condition));
  if (!has_equality(type)) throw Declined{"a key of type " + type.ToString()};
  layout.left.keys.push_back(column_of(layout.left, left_of(condition)));
  layout.right.keys.push_back(column_of(layout.right, right_of(condition)));
  bool const is_null_safe = comparison_of(condition) == ExpressionType::COMPARE_NOT_DISTINCT_FROM;
  layout.key_flags.push_back(is_null_safe ? GPUJOIN_KEY_NULL_EQUAL : 0);
}

void add_outputs(SideLayout& side, const duckdb::vector<duckdb::LogicalType>& types,
                 const ProjectionMap& projection) {
  auto const add = [&](size_t column) {
    duckdb::BoundReferenceExpression const reference(types[column], column);
    side.outputs.push_back(column_of(side, reference));
  };
  if (projection.empty()) {
    for (size_t i = 0; i < types.size(); ++i) add(i);
  } else {
    for (auto const& column : projection) add(column);
  }
}

// An output column of the library's for each column that the filter reads; the filter's references
// become those.
void add_filter(JoinLayout& layout, duckdb::unique_ptr<Expression> filter, size_t left_columns) {
  using duckdb::BoundReferenceExpression;
  auto const output_of = [&](const BoundReferenceExpression& reference) {
    bool const is_left = index_of(reference) < left_columns;
    SideLayout& side = is_left ? layout.left : layout.right;
    BoundReferenceExpression const own(type_of(reference),
                                       index_of(reference) - (is_left ? 0 : left_columns));
    int32_t const column = column_of(side, own);
    auto const found = std::find(side.outputs.begin(), side.outputs.end(), column);
    size_t const position = found - side.outputs.begin();
    if (found == side.outputs.end()) side.outputs.push_back(column);
    return position;
  };
  // Where the right side's outputs begin is known when the left side has all of its own.
  duckdb::ExpressionIterator::VisitExpression<BoundReferenceExpression>(
      *filter, [&](const BoundReferenceExpression& reference) { output_of(reference); });
  duckdb::ExpressionIterator::VisitExpressionMutable<BoundReferenceExpression>(
      filter, [&](BoundReferenceExpression& reference, duckdb::unique_ptr<Expression>&) {
        size_t const first = index_of(reference) < left_columns ? 0 : layout.left.outputs.size();
        set_index(reference, first + output_of(reference));
      });
  layout.filter = std::move(filter);
}

// What the library is not asked for, in one expression.
duckdb::unique_ptr<Expression> conjunction(
    const std::vector<const duckdb::JoinCondition*>& conditions) {
  duckdb::vector<duckdb::unique_ptr<Expression>> parts;
  for (auto const* condition : conditions) parts.push_back(other_of(*condition).Copy());
  return conjunction_of(std::move(parts));
}

}  // namespace

duckdb::vector<duckdb::LogicalType> SideLayout::logical_types() const {
  duckdb::vector<duckdb::LogicalType> all;
  for (auto const& expression : expressions) all.push_back(type_of(*expression));
  return all;
}

void SideLayout::cut_to(size_t columns) {
  expressions.resize(columns);
  types.resize(columns);
}

JoinLayout layout_of(const duckdb::LogicalComparisonJoin& join) {
  JoinLayout layout;
  layout.kind = kind_of(join.join_type);
  layout.has_mark = join.join_type == JoinType::MARK;
  auto const& left_types = join.children[0]->types;
  auto const& right_types = join.children[1]->types;

  for (auto const& condition : join.conditions) {
    if (is_equality(condition)) add_key(layout, condition);
  }
  if (layout.left.keys.empty()) throw Declined{"no key: no condition is an equality"};
  if (layout.left.keys.size() > most_keys) throw Declined{"more than 16 keys"};

  std::vector<const duckdb::JoinCondition*> left_to_duckdb;
  for (auto const& condition : join.conditions) {
    if (is_equality(condition)) continue;
    if (is_comparison(condition)) {
      add_comparison(layout, left_of(condition), right_of(condition), comparison_of(condition));
      continue;
    }
    size_t const left_columns = layout.left.types.size();
    size_t const right_columns = layout.right.types.size();
    try {
      add_predicate(layout, other_of(condition), left_types.size());
    } catch (const Declined&) {
      if (join.join_type != JoinType::INNER) throw;
      left_to_duckdb.push_back(&condition);
      layout.left.cut_to(left_columns);
      layout.right.cut_to(right_columns);
    }
  }

  bool const has_left =
      layout.kind != GPUJOIN_JOIN_RIGHT_SEMI && layout.kind != GPUJOIN_JOIN_RIGHT_ANTI;
  bool const has_right =
      layout.kind <= GPUJOIN_JOIN_FULL || !has_left || layout.kind == GPUJOIN_JOIN_LEFT_SINGLE;
  if (has_left) add_outputs(layout.left, left_types, join.left_projection_map);
  size_t const left_shown = layout.left.outputs.size();
  if (has_right) add_outputs(layout.right, right_types, join.right_projection_map);
  size_t const right_shown = layout.right.outputs.size();
  if (!left_to_duckdb.empty()) {
    add_filter(layout, conjunction(left_to_duckdb), left_types.size());
  }
  for (size_t i = 0; i < left_shown; ++i) layout.shown.push_back(i);
  for (size_t i = 0; i < right_shown; ++i) layout.shown.push_back(layout.left.outputs.size() + i);
  if (layout.has_mark) layout.shown.push_back(layout.left.outputs.size());
  // The library puts out columns or row numbers; rows without either are counted by a key.
  if (layout.left.outputs.empty() && layout.right.outputs.empty()) {
    SideLayout& side = has_left ? layout.left : layout.right;
    side.outputs.push_back(side.keys[0]);
    if (layout.has_mark) layout.shown = {1};
  }
  return layout;
}

}  // namespace gpujoin_duckdb
