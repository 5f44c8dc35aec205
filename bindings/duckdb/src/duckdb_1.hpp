// duckdb_1.hpp: what duckdb_versions.hpp promises, of DuckDB 1.5.
#pragma once

#include <duckdb/common/types/vector.hpp>
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

using ColumnName = std::string;
using ProjectionMap = duckdb::vector<duckdb::idx_t>;

inline const duckdb::LogicalType& type_of(const duckdb::Expression& expression) {
  return expression.return_type;
}
inline std::string name_of(const duckdb::Expression& expression) { return expression.GetName(); }
inline size_t index_of(const duckdb::BoundReferenceExpression& reference) {
  return reference.index;
}
inline void set_index(duckdb::BoundReferenceExpression& reference, size_t index) {
  reference.index = index;
}
// Of BoundConjunctionExpression and BoundOperatorExpression.
template <class Parent>
const auto& children_of(const Parent& parent) {
  return parent.children;
}

inline bool is_comparison(const duckdb::Expression& expression) {
  return expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_COMPARISON;
}
inline const duckdb::Expression& left_of(const duckdb::Expression& comparison) {
  return *comparison.Cast<duckdb::BoundComparisonExpression>().left;
}
inline const duckdb::Expression& right_of(const duckdb::Expression& comparison) {
  return *comparison.Cast<duckdb::BoundComparisonExpression>().right;
}

// What is known of the key of a join on the right side, or of what its last condition compares
// there; null: nothing.
inline const duckdb::BaseStatistics* right_key_statistics(
    const duckdb::LogicalComparisonJoin& join) {
  return join.join_stats.size() == 2 ? join.join_stats[1].get() : nullptr;
}

struct Between {
  const duckdb::Expression& input;
  const duckdb::Expression& lower;
  const duckdb::Expression& upper;
  bool has_lower;
  bool has_upper;
};
inline Between between_of(const duckdb::Expression& expression) {
  auto const& between = expression.Cast<duckdb::BoundBetweenExpression>();
  return {*between.input, *between.lower, *between.upper, between.lower_inclusive,
          between.upper_inclusive};
}

inline duckdb::unique_ptr<duckdb::Expression> conjunction_of(
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> parts) {
  auto all = duckdb::make_uniq<duckdb::BoundConjunctionExpression>(
      duckdb::ExpressionType::CONJUNCTION_AND);
  all->children = std::move(parts);
  return std::move(all);
}

// Conditions of a join: there are comparisons of the left side with the right one alone.

inline bool is_comparison(const duckdb::JoinCondition&) { return true; }
inline duckdb::ExpressionType comparison_of(const duckdb::JoinCondition& condition) {
  return condition.comparison;
}
inline const duckdb::Expression& left_of(const duckdb::JoinCondition& condition) {
  return *condition.left;
}
inline const duckdb::Expression& right_of(const duckdb::JoinCondition& condition) {
  return *condition.right;
}
[[noreturn]] inline const duckdb::Expression& other_of(const duckdb::JoinCondition&) {
  throw duckdb::InvalidInputException("gpujoin: a condition of DuckDB 1.5 is a comparison");
}

// Rows.

inline bool can_have_null(const duckdb::ValidityMask& validity) { return !validity.AllValid(); }

inline duckdb::ValidityMask& validity_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::Validity(vector);
}
template <class Value>
Value* values_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::GetData<Value>(vector);
}
inline duckdb::data_ptr_t bytes_to_write(duckdb::Vector& vector) {
  return duckdb::FlatVector::GetData(vector);
}
inline void set_size(duckdb::Vector&, size_t) {}  // the chunk's is all there is
inline void append(duckdb::Vector& vector, size_t row, const duckdb::Value& value) {
  vector.SetValue(row, value);
}

// Keeps `owner` as long as somebody has the vector's text.
template <class Owner>
void keep_with(duckdb::Vector& vector, std::shared_ptr<Owner> owner) {
  struct Kept final : duckdb::VectorBuffer {
    explicit Kept(std::shared_ptr<Owner> kept)
        : VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), owner(std::move(kept)) {}
    std::shared_ptr<Owner> owner;
  };
  duckdb::StringVector::AddBuffer(vector, duckdb::make_buffer<Kept>(std::move(owner)));
}

// Queries.

inline void check_interrupt(const duckdb::ClientContext& client) {
  if (client.IsInterrupted()) throw duckdb::InterruptException();
}

inline void finish_filters(duckdb::ClientContext& client,
                           const duckdb::PhysicalComparisonJoin& join,
                           duckdb::JoinFilterGlobalState& state) {
  join.filter_pushdown->Finalize(client, nullptr, state, join);
}

inline void show_in_profile(duckdb::ExecutionContext& execution,
                            const duckdb::PhysicalOperator& join,
                            duckdb::InsertionOrderPreservingMap<std::string> shown) {
  execution.thread.profiler.GetOperatorInfo(join).extra_info = std::move(shown);
}

// 0 = no limit.
inline uint64_t bytes_of_limit(const std::string& text) {
  auto const bytes = duckdb::DBConfig::ParseMemoryLimit(text);
  return bytes == duckdb::DConstants::INVALID_INDEX ? 0 : bytes;
}

}  // namespace gpujoin_duckdb
