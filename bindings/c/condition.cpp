#include "bindings/c/condition.hpp"

#include <utility>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/base/status.hpp"

namespace gpujoin::shim {

namespace {

using base::fail;
using columns::ConditionNode;
using columns::Relation;

constexpr int32_t kMostNodes = 4096;

// How many arguments an operator takes; `most` -1: any number.
struct Arity {
  int32_t least = 0;
  int32_t most = 0;
};

Arity arity_of(gpujoin_operator operation) {
  switch (operation) {
    case GPUJOIN_OPERATOR_COLUMN:
    case GPUJOIN_OPERATOR_CONSTANT:
      return {0, 0};
    case GPUJOIN_OPERATOR_IN:
    case GPUJOIN_OPERATOR_NOT:
    case GPUJOIN_OPERATOR_IS_NULL:
    case GPUJOIN_OPERATOR_IS_NOT_NULL:
    case GPUJOIN_OPERATOR_IS_TRUE:
    case GPUJOIN_OPERATOR_IS_FALSE:
    case GPUJOIN_OPERATOR_NEGATE:
    case GPUJOIN_OPERATOR_ABSOLUTE:
      return {1, 1};
    case GPUJOIN_OPERATOR_BETWEEN:
      return {3, 3};
    case GPUJOIN_OPERATOR_AND:
    case GPUJOIN_OPERATOR_OR:
    case GPUJOIN_OPERATOR_COALESCE:
      return {1, -1};
    case GPUJOIN_OPERATOR_CASE:
      return {2, -1};
    default:
      return {2, 2};
  }
}

class Checking {
 public:
  Checking(const base::Context& context, const Relation& left, const Relation& right)
      : context_(context), left_(left), right_(right) {}

  // name: the node's.
  ConditionNode node(const gpujoin_node& given, const std::string& name) {
    auto const field = [&](const char* of) { return name + "." + of; };
    if (given.operation > GPUJOIN_OPERATOR_ABSOLUTE) {
      fail(GPUJOIN_ERROR_UNSUPPORTED, "%s: %d; this version knows 1 to %d",
           field("operation").c_str(), given.operation, GPUJOIN_OPERATOR_ABSOLUTE);
    }
    check_range(given.operation, GPUJOIN_OPERATOR_COLUMN, GPUJOIN_OPERATOR_ABSOLUTE,
                field("operation").c_str());
    check_reserved(given.reserved, field("reserved").c_str());
    Arity const arity = arity_of(given.operation);
    check_range(given.argument_count, arity.least, arity.most < 0 ? kMostNodes : arity.most,
                field("argument_count").c_str());
    if (given.argument_count > values_) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %d and the nodes before it leave %d values",
           field("argument_count").c_str(), given.argument_count, values_);
    }
    values_ += 1 - given.argument_count;
    ConditionNode node;
    node.operation = given.operation;
    node.argument_count = given.argument_count;
    bool const names_column = given.operation == GPUJOIN_OPERATOR_COLUMN;
    bool const names_values =
        given.operation == GPUJOIN_OPERATOR_CONSTANT || given.operation == GPUJOIN_OPERATOR_IN;
    check_absent(given.side != 0 && !names_column, field("side"));
    check_absent(given.column != 0 && !names_column && !names_values, field("column"));
    check_absent(given.values != nullptr && !names_values, field("values"));
    if (names_column) {
      check_range(given.side, GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT, field("side").c_str());
      node.of_left = given.side == GPUJOIN_SIDE_LEFT;
      column(node.of_left ? left_ : right_, given.column, field("column"));
    } else if (names_values) {
      node.values = checked_relation(context_, given.values, field("values").c_str());
      check_values(*node.values, given, name);
    }
    node.column = given.column;
    return node;
  }

  int32_t values() const { return values_; }

 private:
  static void check_absent(bool is_there, const std::string& field) {
    if (!is_there) return;
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is given and the operation has none", field.c_str());
  }

  static const columns::ColumnView& column(const Relation& relation, int32_t index,
                                           const std::string& field) {
    if (index >= 0 && static_cast<size_t>(index) < relation.columns.size()) {
      return relation.columns[static_cast<size_t>(index)];
    }
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %d and the relation has %zu columns", field.c_str(),
         index, relation.columns.size());
  }

  static void check_values(const Relation& values, const gpujoin_node& given,
                           const std::string& name) {
    columns::ColumnView const* view = &column(values, given.column, name + ".column");
    if (given.operation == GPUJOIN_OPERATOR_CONSTANT && values.rows == 0) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.values has no row, and a constant is its first",
           name.c_str());
    }
    if (values.rows == 0) return;
    for (;;) {
      if (view->memory == base::Memory::kDevice) {
        fail(GPUJOIN_ERROR_UNSUPPORTED, "%s.values lies in device memory", name.c_str());
      }
      if (view->parts == nullptr || view->parts->values == nullptr) return;
      view = view->parts->values.get();
    }
  }

  const base::Context& context_;
  Relation const& left_;
  Relation const& right_;
  int32_t values_ = 0;  // of the nodes so far that no node took
};

}  // namespace

columns::Condition checked_condition(const gpujoin_condition* given, const base::Context& context,
                                     const Relation& left, const Relation& right,
                                     const std::string& argument) {
  gpujoin_condition const known = read_struct(given, argument.c_str());
  std::string const nodes_name = argument + ".nodes";
  std::string const count_name = argument + ".node_count";
  check_range(known.node_count, 1, kMostNodes, count_name.c_str());
  std::vector<gpujoin_node> const nodes =
      read_array(known.nodes, known.node_count, nodes_name.c_str(), count_name.c_str());
  Checking checking(context, left, right);
  columns::Condition condition;
  condition.nodes.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    condition.nodes.push_back(checking.node(nodes[i], nodes_name + "[" + std::to_string(i) + "]"));
  }
  if (checking.values() != 1) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s leaves %d values, and a condition has one answer: each other node is to be taken by "
         "one behind it",
         nodes_name.c_str(), checking.values());
  }
  return condition;
}

}  // namespace gpujoin::shim
