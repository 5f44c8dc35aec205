// duckdb_2.hpp: what duckdb_versions.hpp promises, of DuckDB 2.0.
#pragma once

#include <duckdb/common/vector/flat_vector.hpp>
#include <duckdb/common/vector/string_vector.hpp>
#include <duckdb/execution/operator/join/physical_comparison_join.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/query_profiler.hpp>
#include <duckdb/parallel/thread_context.hpp>
#include <duckdb/planner/expression/bound_between_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_conjunction_expression.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>
#include <duckdb/planner/operator/logical_comparison_join.hpp>
#include <duckdb/storage/statistics/base_statistics.hpp>

namespace gpujoin_duckdb {

// Expressions.

using ColumnName = duckdb::Identifier;
using ProjectionMap = duckdb::vector<duckdb::ProjectionIndex>;

inline const duckdb::LogicalType& type_of(const duckdb::Expression& expression) {
  return expression.GetReturnType();
}
inline std::string name_of(const duckdb::Expression& expression) {
  return expression.GetName().GetIdentifierName();
}
inline size_t index_of(const duckdb::BoundReferenceExpression& reference) {
  return reference.Index();
}
inline void set_index(duckdb::BoundReferenceExpression& reference, size_t index) {
  reference.IndexMutable() = index;
}
// Of BoundConjunctionExpression and BoundOperatorExpression.
template <class Parent>
const auto& children_of(const Parent& parent) {
  return parent.GetChildren();
}

inline bool is_comparison(const duckdb::Expression& expression) {
  return duckdb::BoundComparisonExpression::IsComparison(expression);
}
inline const duckdb::Expression& left_of(const duckdb::Expression& comparison) {
  return duckdb::BoundComparisonExpression::Left(
      comparison.Cast<duckdb::BoundFunctionExpression>());
}
inline const duckdb::Expression& right_of(const duckdb::Expression& comparison) {
  return duckdb::BoundComparisonExpression::Right(
      comparison.Cast<duckdb::BoundFunctionExpression>());
}

// What is known of what the first condition of a join compares on the right side; null: nothing.
inline const duckdb::BaseStatistics* right_key_statistics(
    const duckdb::LogicalComparisonJoin& join) {
  return join.conditions[0].GetRightStats().get();
}

struct Between {
  const duckdb::Expression& input;
  const duckdb::Expression& lower;
  const duckdb::Expression& upper;
  bool has_lower;
  bool has_upper;
};
inline Between between_of(const duckdb::Expression& expression) {
  using Bounds = duckdb::BoundBetweenExpression;
  auto const& between = expression.Cast<duckdb::BoundFunctionExpression>();
  return {Bounds::Input(between), Bounds::LowerBound(between), Bounds::UpperBound(between),
          Bounds::LowerInclusive(between), Bounds::UpperInclusive(between)};
}

inline duckdb::unique_ptr<duckdb::Expression> conjunction_of(
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> parts) {
  return duckdb::BoundConjunctionExpression::Create(duckdb::ExpressionType::CONJUNCTION_AND,
                                                    std::move(parts));
}

// Conditions of a join: comparisons of the left side with the right one, and others.

inline bool is_comparison(const duckdb::JoinCondition& condition) {
  return condition.IsComparison();
}
inline duckdb::ExpressionType comparison_of(const duckdb::JoinCondition& condition) {
  return condition.GetComparisonType();
}
inline const duckdb::Expression& left_of(const duckdb::JoinCondition& condition) {
  return condition.GetLHS();
}
inline const duckdb::Expression& right_of(const duckdb::JoinCondition& condition) {
  return condition.GetRHS();
}
inline const duckdb::Expression& other_of(const duckdb::JoinCondition& condition) {
  return condition.GetJoinExpression();
}

// Rows.

inline bool can_have_null(const duckdb::ValidityMask& validity) { return validity.CanHaveNull(); }

inline duckdb::ValidityMask& validity_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::ValidityMutable(vector);
}
template <class Value>
Value* values_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::GetDataMutable<Value>(vector);
}
inline duckdb::data_ptr_t bytes_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::GetDataMutable(vector);
}
inline void set_size(duckdb::Vector& vector, size_t rows) {
  duckdb::FlatVector::SetSize(vector, rows);
}
inline void append(duckdb::Vector& vector, size_t, const duckdb::Value& value) {
  vector.Append(value);
}

// Keeps `owner` as long as somebody has the vector's text.
template <class Owner>
void keep_with(duckdb::Vector& vector, std::shared_ptr<Owner> owner) {
  struct Kept final : duckdb::AuxiliaryDataHolder {
    explicit Kept(std::shared_ptr<Owner> kept) : owner(std::move(kept)) {}
    std::shared_ptr<Owner> owner;
  };
  vector.BufferMutable().AddAuxiliaryData(duckdb::make_uniq<Kept>(std::move(owner)));
}

// Queries.

inline void check_interrupt(const duckdb::ClientContext& client) { client.InterruptCheck(); }

inline void finish_filters(duckdb::ClientContext& client,
                           const duckdb::PhysicalComparisonJoin& join,
                           duckdb::JoinFilterGlobalState& state) {
  join.filter_pushdown->Finalize(client, state, join);
}

inline void show_in_profile(duckdb::ExecutionContext& execution,
                            const duckdb::PhysicalOperator& join,
                            duckdb::InsertionOrderPreservingMap<std::string> shown) {
  execution.thread.profiler.GetOperatorMetrics(join).SetExtraInfo(std::move(shown));
}

// 0 = no limit.
inline uint64_t bytes_of_limit(const std::string& text) {
  auto const bytes = duckdb::DBConfig::ParseMemoryLimit(text);
  return bytes.IsValid() ? bytes.GetIndex() : 0;
}

}  // namespace gpujoin_duckdb
