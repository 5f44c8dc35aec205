#include "src/conditions/bind.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/conditions/arithmetic.hpp"
#include "src/conditions/expressions.hpp"
#include "src/conditions/operator_names.hpp"

namespace gpujoin::conditions {

namespace {

using columns::ConditionNode;
using columns::Relation;
using kernels::Limits;
using kernels::Operation;

class Binder {
 public:
  Binder(const columns::Condition& condition, const Relation& left, const Relation& right,
         const std::string& argument)
      : condition_(condition), left_(left), right_(right), argument_(argument) {}

  std::shared_ptr<const BoundCondition> bind() {
    auto bound = std::make_shared<BoundCondition>();
    bound->argument = argument_;
    for (; node_ < condition_.nodes.size(); ++node_) {
      expressions_.begin_node(static_cast<uint16_t>(node_));
      ConditionNode const& node = condition_.nodes[node_];
      auto const count = static_cast<size_t>(node.argument_count);
      arguments_.assign(stack_.end() - node.argument_count, stack_.end());
      stack_.resize(stack_.size() - count);
      int32_t const made = expression_of(node);
      stack_.push_back(made);
      bound->node_types.push_back(name_of(type_of_expression(made)));
    }
    node_ = condition_.nodes.size() - 1;
    int32_t const answer = stack_.front();
    ValueType const& type = type_of_expression(answer);
    if (type.kind != Kind::kBool && type.kind != Kind::kNull) {
      fail_with("is the answer and " + name_of(type) + ", which has to be BOOL");
    }
    int32_t const as_bool = expressions_.convert(answer, bool_type(), Limits::kNone);
    bound->conjunction = simple_comparisons(expressions_, as_bool);
    emit(expressions_, as_bool, bound.get());
    bound->columns = std::move(expressions_.columns());
    bound->constants = std::move(expressions_.constants());
    return bound;
  }

 private:
  const ValueType& type_of_expression(int32_t number) const { return expressions_[number].type; }
  const ValueType& type_of_argument(size_t i) const { return type_of_expression(arguments_[i]); }

  [[noreturn]] void fail_with(const std::string& what) const {
    base::fail(GPUJOIN_ERROR_TYPE, "%s.nodes[%zu] %s", argument_.c_str(), node_, what.c_str());
  }
  // "spec.residual.nodes[3]: LESS of INT32 and UTF8, which do not compare".
  [[noreturn]] void fail_types(const char* why) const {
    std::string types;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (i != 0) types += i + 1 == arguments_.size() ? " and " : ", ";
      types += name_of(type_of_argument(i));
    }
    base::fail(GPUJOIN_ERROR_TYPE, "%s.nodes[%zu]: %s of %s, %s", argument_.c_str(), node_,
               name_of_operator(condition_.nodes[node_].operation), types.c_str(), why);
  }

  ValueType type_of_column(const columns::ColumnView& column) const {
    if (auto const type = type_of(column)) return *type;
    std::string const type = column.type != 0 ? columns::name_of(column.type)
                                              : "of Arrow format \"" + column.arrow_format + "\"";
    fail_with("names column \"" + column.name + "\" of type " + type +
              ", of which conditions know no value");
  }

  int32_t expression_of(const ConditionNode& node) {
    switch (node.operation) {
      case GPUJOIN_OPERATOR_COLUMN: {
        Relation const& relation = node.of_left ? left_ : right_;
        auto const& column = relation.columns[static_cast<size_t>(node.column)];
        return expressions_.load(node.of_left, node.column, column, type_of_column(column));
      }
      case GPUJOIN_OPERATOR_CONSTANT: {
        auto const& column = node.values->columns[static_cast<size_t>(node.column)];
        return expressions_.constant(column, 0, type_of_column(column));
      }
      case GPUJOIN_OPERATOR_EQUAL:
        return comparison(Operation::kEqual, 0, 1);
      case GPUJOIN_OPERATOR_NOT_EQUAL:
        return comparison(Operation::kNotEqual, 0, 1);
      case GPUJOIN_OPERATOR_LESS:
        return comparison(Operation::kLess, 0, 1);
      case GPUJOIN_OPERATOR_LESS_EQUAL:
        return comparison(Operation::kLessEqual, 0, 1);
      case GPUJOIN_OPERATOR_GREATER:
        return comparison(Operation::kLess, 1, 0);
      case GPUJOIN_OPERATOR_GREATER_EQUAL:
        return comparison(Operation::kLessEqual, 1, 0);
      case GPUJOIN_OPERATOR_DISTINCT:
        return comparison(Operation::kDistinct, 0, 1);
      case GPUJOIN_OPERATOR_NOT_DISTINCT:
        return comparison(Operation::kNotDistinct, 0, 1);
      case GPUJOIN_OPERATOR_BETWEEN: {
        int32_t const low = comparison(Operation::kLessEqual, 1, 0);
        return of_bools(Operation::kAnd, {low, comparison(Operation::kLessEqual, 0, 2)});
      }
      case GPUJOIN_OPERATOR_IN:
        return in(node);
      case GPUJOIN_OPERATOR_AND:
        return of_bools(Operation::kAnd, bools());
      case GPUJOIN_OPERATOR_OR:
        return of_bools(Operation::kOr, bools());
      case GPUJOIN_OPERATOR_NOT:
        return of_bools(Operation::kNot, bools());
      case GPUJOIN_OPERATOR_IS_TRUE:
        return of_bools(Operation::kIsTrue, bools());
      case GPUJOIN_OPERATOR_IS_FALSE:
        return of_bools(Operation::kIsFalse, bools());
      case GPUJOIN_OPERATOR_IS_NULL:
        return expressions_.make(Operation::kIsNullValue, bool_type(), {arguments_[0], -1, -1});
      case GPUJOIN_OPERATOR_IS_NOT_NULL:
        return expressions_.make(Operation::kIsNotNull, bool_type(), {arguments_[0], -1, -1});
      case GPUJOIN_OPERATOR_STARTS_WITH:
        return starts_with();
      case GPUJOIN_OPERATOR_CASE:
        return choice();
      case GPUJOIN_OPERATOR_COALESCE:
        return coalesce();
      default:
        return arithmetic(node.operation);
    }
  }

  int32_t comparison(Operation operation, size_t first, size_t second) {
    auto const as = comparable(type_of_argument(first), type_of_argument(second));
    if (!as) fail_types("which do not compare");
    int32_t const one = expressions_.convert(arguments_[first], *as, Limits::kSaturates);
    int32_t const other = expressions_.convert(arguments_[second], *as, Limits::kSaturates);
    return expressions_.make(operation, bool_type(), {one, other, -1});
  }

  int32_t in(const ConditionNode& node) {
    auto const& column = node.values->columns[static_cast<size_t>(node.column)];
    ValueType const type = type_of_column(column);
    auto const as = comparable(type_of_argument(0), type);
    if (!as) {
      fail_types(("and values of " + name_of(type) + ", which do not compare").c_str());
    }
    int32_t const argument = expressions_.convert(arguments_[0], *as, Limits::kSaturates);
    return expressions_.in(argument, column, node.values->rows, type, *as);
  }

  std::vector<int32_t> bools() {
    std::vector<int32_t> made;
    for (int32_t const argument : arguments_) made.push_back(as_bool(argument));
    return made;
  }
  int32_t as_bool(int32_t argument) {
    Kind const kind = type_of_expression(argument).kind;
    if (kind != Kind::kBool && kind != Kind::kNull) fail_types("which takes BOOL");
    return expressions_.convert(argument, bool_type(), Limits::kNone);
  }

  // From the first on; of one argument, that of the operation, or as it is of AND and OR.
  int32_t of_bools(Operation operation, const std::vector<int32_t>& of) {
    bool const joins = operation == Operation::kAnd || operation == Operation::kOr;
    if (!joins) return expressions_.make(operation, bool_type(), {of[0], -1, -1});
    int32_t made = of[0];
    for (size_t i = 1; i < of.size(); ++i) {
      made = expressions_.make(operation, bool_type(), {made, of[i], -1});
    }
    return made;
  }

  int32_t starts_with() {
    ValueType const& value = type_of_argument(0);
    ValueType const& prefix = type_of_argument(1);
    auto const as = comparable(value, prefix);
    bool const is_known = as && (as->of == kernels::ValueClass::kBytes || as->kind == Kind::kNull);
    if (!is_known) fail_types("which takes text or binary");
    if (as->kind == Kind::kNull) return expressions_.null_of(bool_type());
    int32_t const one = expressions_.convert(arguments_[0], *as, Limits::kNone);
    int32_t const other = expressions_.convert(arguments_[1], *as, Limits::kNone);
    return expressions_.make(Operation::kStartsWith, bool_type(), {one, other, -1});
  }

  // What holds the values of all that are listed by their numbers among the arguments.
  ValueType common_of(const std::vector<size_t>& values) const {
    ValueType made;
    for (size_t const i : values) {
      auto const both = common(made, type_of_argument(i));
      if (!both) fail_types("which have no common type");
      made = *both;
    }
    return made;
  }

  int32_t choice() {
    size_t const count = arguments_.size();
    bool const has_else = count % 2 != 0;
    std::vector<size_t> values;
    for (size_t i = 1; i < count; i += 2) values.push_back(i);
    if (has_else) values.push_back(count - 1);
    ValueType const type = common_of(values);
    Limits const limits = limits_of(type);
    int32_t made = has_else ? expressions_.convert(arguments_[count - 1], type, limits)
                            : expressions_.null_of(type);
    for (size_t i = count - (has_else ? 1 : 0); i >= 2; i -= 2) {
      int32_t const when = as_bool(arguments_[i - 2]);
      int32_t const then = expressions_.convert(arguments_[i - 1], type, limits);
      made = expressions_.make(Operation::kSelect, type, {when, then, made});
    }
    return made;
  }

  int32_t coalesce() {
    std::vector<size_t> values;
    for (size_t i = 0; i < arguments_.size(); ++i) values.push_back(i);
    ValueType const type = common_of(values);
    int32_t made = -1;
    for (size_t i = arguments_.size(); i-- > 0;) {
      int32_t const value = expressions_.convert(arguments_[i], type, limits_of(type));
      made = made < 0 ? value : expressions_.make(Operation::kCoalesce, type, {value, made, -1});
    }
    return made;
  }

  int32_t arithmetic(gpujoin_operator operation) {
    const char* why = nullptr;
    int32_t const made =
        arguments_.size() == 1
            ? arithmetic_of(expressions_, operation, arguments_[0], &why)
            : arithmetic_of(expressions_, operation, arguments_[0], arguments_[1], &why);
    if (made < 0) fail_types(why);
    return made;
  }

  const columns::Condition& condition_;
  Relation const& left_;
  Relation const& right_;
  std::string const& argument_;
  size_t node_ = 0;
  Expressions expressions_;
  std::vector<int32_t> stack_;
  std::vector<int32_t> arguments_;
};

}  // namespace

std::shared_ptr<const BoundCondition> bind(const columns::Condition& condition,
                                           const Relation& left, const Relation& right,
                                           const std::string& argument) {
  return Binder(condition, left, right, argument).bind();
}

}  // namespace gpujoin::conditions
