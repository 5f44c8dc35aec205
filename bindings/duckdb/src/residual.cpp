// residual.cpp: what rows with equal keys have to fulfil besides, as a condition of the library.
#include "bindings/duckdb/src/residual.hpp"

#include <duckdb/common/enum_util.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/expression_iterator.hpp>

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

using duckdb::Expression;
using duckdb::ExpressionClass;
using duckdb::ExpressionType;

gpujoin_operator comparison_operator(ExpressionType comparison) {
  switch (comparison) {
    case ExpressionType::COMPARE_EQUAL:
      return GPUJOIN_OPERATOR_EQUAL;
    case ExpressionType::COMPARE_NOTEQUAL:
      return GPUJOIN_OPERATOR_NOT_EQUAL;
    case ExpressionType::COMPARE_LESSTHAN:
      return GPUJOIN_OPERATOR_LESS;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO:
      return GPUJOIN_OPERATOR_LESS_EQUAL;
    case ExpressionType::COMPARE_GREATERTHAN:
      return GPUJOIN_OPERATOR_GREATER;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      return GPUJOIN_OPERATOR_GREATER_EQUAL;
    case ExpressionType::COMPARE_DISTINCT_FROM:
      return GPUJOIN_OPERATOR_DISTINCT;
    case ExpressionType::COMPARE_NOT_DISTINCT_FROM:
      return GPUJOIN_OPERATOR_NOT_DISTINCT;
    default:
      throw Declined{"a comparison by " + duckdb::EnumUtil::ToString(comparison)};
  }
}

bool is_ordering(gpujoin_operator operation) {
  return operation >= GPUJOIN_OPERATOR_LESS && operation <= GPUJOIN_OPERATOR_GREATER_EQUAL;
}

void check_comparable(const duckdb::LogicalType& type, gpujoin_operator operation) {
  if (is_ordering(operation) ? has_order(type) : has_equality(type)) return;
  throw Declined{"a condition compares " + type.ToString()};
}

gpujoin_node node_of(gpujoin_operator operation, int32_t arguments) {
  gpujoin_node node = GPUJOIN_NODE_INIT;
  node.operation = operation;
  node.argument_count = arguments;
  return node;
}

gpujoin_node column_node(gpujoin_side side, int32_t column) {
  gpujoin_node node = node_of(GPUJOIN_OPERATOR_COLUMN, 0);
  node.side = side;
  node.column = column;
  return node;
}

void and_with(std::vector<gpujoin_node>& all, const std::vector<gpujoin_node>& more) {
  bool const is_first = all.empty();
  all.insert(all.end(), more.begin(), more.end());
  if (!is_first) all.push_back(node_of(GPUJOIN_OPERATOR_AND, 2));
}

// Which sides an expression reads.
struct Reads {
  bool left = false;
  bool right = false;
};

Reads reads_of(const Expression& expression, size_t left_columns) {
  Reads reads;
  duckdb::ExpressionIterator::VisitExpression<duckdb::BoundReferenceExpression>(
      expression, [&](const duckdb::BoundReferenceExpression& reference) {
        (index_of(reference) < left_columns ? reads.left : reads.right) = true;
      });
  return reads;
}

class Translation {
 public:
  Translation(JoinLayout& layout, size_t left_columns)
      : layout_(layout), left_columns_(left_columns) {}

  std::vector<gpujoin_node> take() { return std::move(nodes_); }

  void add(const Expression& expression) {
    Reads const reads = reads_of(expression, left_columns_);
    if (!(reads.left && reads.right)) {
      add_column(expression, reads);
    } else if (expression.GetExpressionClass() == ExpressionClass::BOUND_CONJUNCTION) {
      add_conjunction(expression.Cast<duckdb::BoundConjunctionExpression>());
    } else if (expression.GetExpressionClass() == ExpressionClass::BOUND_OPERATOR) {
      add_operator(expression.Cast<duckdb::BoundOperatorExpression>());
    } else if (expression.GetExpressionType() == ExpressionType::COMPARE_BETWEEN) {
      add_between(between_of(expression));
    } else if (is_comparison(expression)) {
      add_comparison(left_of(expression), right_of(expression),
                     comparison_operator(expression.GetExpressionType()));
    } else {
      decline(expression);
    }
  }

 private:
  [[noreturn]] static void decline(const Expression& expression) {
    throw Declined{"a condition of both sides: " + expression.ToString()};
  }

  // Computed for all rows of the side, also those that DuckDB would not have come to.
  void add_column(const Expression& expression, Reads reads) {
    if (expression.CanThrow() || expression.IsVolatile()) decline(expression);
    auto own = expression.Copy();
    if (reads.right) {
      duckdb::ExpressionIterator::VisitExpressionMutable<duckdb::BoundReferenceExpression>(
          own, [&](duckdb::BoundReferenceExpression& reference, duckdb::unique_ptr<Expression>&) {
            set_index(reference, index_of(reference) - left_columns_);
          });
    }
    gpujoin_side const side = reads.right ? GPUJOIN_SIDE_RIGHT : GPUJOIN_SIDE_LEFT;
    SideLayout& columns = reads.right ? layout_.right : layout_.left;
    nodes_.push_back(column_node(side, column_of(columns, *own)));
    if (type_of(*own).id() != duckdb::LogicalTypeId::BOOLEAN) return;
    // Truth values are bytes in DuckDB.
    duckdb::BoundConstantExpression const zero(duckdb::Value::UTINYINT(0));
    nodes_.push_back(column_node(GPUJOIN_SIDE_LEFT, column_of(layout_.left, zero)));
    nodes_.push_back(node_of(GPUJOIN_OPERATOR_NOT_EQUAL, 2));
  }

  void add_comparison(const Expression& left, const Expression& right, gpujoin_operator operation) {
    check_comparable(type_of(left), operation);
    add(left);
    add(right);
    nodes_.push_back(node_of(operation, 2));
  }

  void add_conjunction(const duckdb::BoundConjunctionExpression& conjunction) {
    for (auto const& child : children_of(conjunction)) add(*child);
    bool const is_and = conjunction.GetExpressionType() == ExpressionType::CONJUNCTION_AND;
    nodes_.push_back(node_of(is_and ? GPUJOIN_OPERATOR_AND : GPUJOIN_OPERATOR_OR,
                             static_cast<int32_t>(children_of(conjunction).size())));
  }

  void add_operator(const duckdb::BoundOperatorExpression& expression) {
    gpujoin_operator operation = 0;
    switch (expression.GetExpressionType()) {
      case ExpressionType::OPERATOR_NOT:
        operation = GPUJOIN_OPERATOR_NOT;
        break;
      case ExpressionType::OPERATOR_IS_NULL:
        operation = GPUJOIN_OPERATOR_IS_NULL;
        break;
      case ExpressionType::OPERATOR_IS_NOT_NULL:
        operation = GPUJOIN_OPERATOR_IS_NOT_NULL;
        break;
      default:
        decline(expression);
    }
    add(*children_of(expression)[0]);
    nodes_.push_back(node_of(operation, 1));
  }

  void add_between(const Between& between) {
    add_comparison(between.input, between.lower,
                   between.has_lower ? GPUJOIN_OPERATOR_GREATER_EQUAL : GPUJOIN_OPERATOR_GREATER);
    add_comparison(between.input, between.upper,
                   between.has_upper ? GPUJOIN_OPERATOR_LESS_EQUAL : GPUJOIN_OPERATOR_LESS);
    nodes_.push_back(node_of(GPUJOIN_OPERATOR_AND, 2));
  }

  JoinLayout& layout_;
  size_t left_columns_;
  std::vector<gpujoin_node> nodes_;
};

}  // namespace

int32_t column_of(SideLayout& side, const Expression& expression) {
  for (size_t i = 0; i < side.expressions.size(); ++i) {
    if (Expression::Equals(*side.expressions[i], expression)) return static_cast<int32_t>(i);
  }
  auto const type = column_type(type_of(expression));
  if (!type) throw Declined{"a column of type " + type_of(expression).ToString()};
  side.expressions.push_back(expression.Copy());
  side.types.push_back(*type);
  return static_cast<int32_t>(side.expressions.size() - 1);
}

void add_comparison(JoinLayout& layout, const Expression& left, const Expression& right,
                    ExpressionType comparison) {
  gpujoin_operator const operation = comparison_operator(comparison);
  check_comparable(type_of(left), operation);
  and_with(layout.residual, {column_node(GPUJOIN_SIDE_LEFT, column_of(layout.left, left)),
                             column_node(GPUJOIN_SIDE_RIGHT, column_of(layout.right, right)),
                             node_of(operation, 2)});
}

void add_predicate(JoinLayout& layout, const Expression& predicate, size_t left_columns) {
  Translation translation(layout, left_columns);
  translation.add(predicate);
  and_with(layout.residual, translation.take());
}

}  // namespace gpujoin_duckdb
