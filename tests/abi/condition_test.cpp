// condition_test.cpp: conditions whose form or types are wrong: what is refused, and how the node
// is named.
#include <limits>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

gpujoin_node node_of(gpujoin_operator operation, int32_t argument_count) {
  gpujoin_node node = GPUJOIN_NODE_INIT;
  node.operation = operation;
  node.argument_count = argument_count;
  return node;
}
gpujoin_node column_of_side(gpujoin_side side, int32_t column) {
  gpujoin_node node = node_of(GPUJOIN_OPERATOR_COLUMN, 0);
  node.side = side;
  node.column = column;
  return node;
}

class ConditionTest : public testing::Test {
 protected:
  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Context other_context = make_context(GPUJOIN_DEVICE_CPU);
  Table table = counting_table(10, 5);
  Table no_rows = counting_table(0, 1);
  Table floats = {Column("f", GPUJOIN_TYPE_FLOAT64, std::vector<double>{1.5})};
  Relation relation = make_relation(context, table);
  Relation empty = make_relation(context, no_rows);
  Relation constant = make_relation(context, floats);
  Relation of_another = make_relation(other_context, table);
  // left column 0 < right column 0
  std::vector<gpujoin_node> nodes = {column_of_side(GPUJOIN_SIDE_LEFT, 0),
                                     column_of_side(GPUJOIN_SIDE_RIGHT, 0),
                                     node_of(GPUJOIN_OPERATOR_LESS, 2)};

  Answer with(const gpujoin_condition& condition) {
    Spec const wish;
    gpujoin_join_spec spec = wish.get();
    spec.residual = &condition;
    gpujoin_result* result = nullptr;
    Answer const answer =
        call(gpujoin_join, context.get(), relation.get(), relation.get(), &spec, nullptr, &result);
    EXPECT_EQ(result == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_result_destroy(result);
    return answer;
  }
  Answer with_nodes() {
    gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
    condition.node_count = static_cast<int32_t>(nodes.size());
    condition.nodes = nodes.data();
    return with(condition);
  }
  template <typename Change>
  Answer with_node(size_t at, Change change) {
    std::vector<gpujoin_node> const kept = nodes;
    change(nodes[at]);
    Answer const answer = with_nodes();
    nodes = kept;
    return answer;
  }
};

TEST_F(ConditionTest, AConditionThatIsRightIsTaken) { EXPECT_OK(with_nodes()); }

TEST_F(ConditionTest, CountsAndSizesAreChecked) {
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
  EXPECT_NAMES(with(condition), kInvalid, "spec.residual.node_count is 0, allowed are 1 to 4096");
  condition.node_count = 4097;
  condition.nodes = nodes.data();
  EXPECT_NAMES(with(condition), kInvalid, "spec.residual.node_count is 4097");
  condition.node_count = -1;
  EXPECT_NAMES(with(condition), kInvalid, "spec.residual.node_count is -1");
  condition.node_count = 3;
  condition.nodes = nullptr;
  EXPECT_NAMES(with(condition), kInvalid, "spec.residual.nodes is NULL");
  condition.struct_size = 4;
  EXPECT_NAMES(with(condition), GPUJOIN_ERROR_ABI_MISMATCH, "spec.residual.struct_size");
  EXPECT_NAMES(with_node(1, [](gpujoin_node& node) { node.struct_size += 8; }),
               GPUJOIN_ERROR_ABI_MISMATCH, "spec.residual.nodes[1].struct_size");
}

TEST_F(ConditionTest, NodesAreNamedByTheirNumber) {
  auto const with_operation = [&](int32_t operation) {
    return with_node(2, [&](gpujoin_node& node) { node.operation = operation; });
  };
  EXPECT_NAMES(with_operation(0), kInvalid, "spec.residual.nodes[2].operation is 0");
  EXPECT_NAMES(with_operation(-5), kInvalid, "spec.residual.nodes[2].operation is -5");
  EXPECT_NAMES(with_operation(1000), GPUJOIN_ERROR_UNSUPPORTED,
               "spec.residual.nodes[2].operation: 1000");
  auto const with_arguments = [&](gpujoin_operator operation, int32_t count) {
    return with_node(2, [&](gpujoin_node& node) { node = node_of(operation, count); });
  };
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_LESS, 1), kInvalid,
               "spec.residual.nodes[2].argument_count is 1, allowed is 2");
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_BETWEEN, 3), kInvalid,
               "spec.residual.nodes[2].argument_count is 3 and the nodes before it leave 2 values");
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_AND, 0), kInvalid,
               "spec.residual.nodes[2].argument_count is 0");
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_CASE, 1), kInvalid,
               "spec.residual.nodes[2].argument_count is 1");
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_AND, std::numeric_limits<int32_t>::max()), kInvalid,
               "spec.residual.nodes[2].argument_count");
  EXPECT_NAMES(with_arguments(GPUJOIN_OPERATOR_AND, std::numeric_limits<int32_t>::min()), kInvalid,
               "spec.residual.nodes[2].argument_count");
  EXPECT_NAMES(with_node(2, [](gpujoin_node& node) { node.reserved = 1; }), kInvalid,
               "spec.residual.nodes[2].reserved");
}

TEST_F(ConditionTest, AnswersAreOneAndBool) {
  nodes = {nodes[0], nodes[1]};
  EXPECT_NAMES(with_nodes(), kInvalid, "spec.residual.nodes leaves 2 values");
  nodes.resize(1);
  EXPECT_NAMES(with_nodes(), GPUJOIN_ERROR_TYPE,
               "spec.residual.nodes[0] is the answer and INT32, which has to be BOOL");
}

TEST_F(ConditionTest, ColumnsAndSidesAreThere) {
  for (int32_t const column : {2, -1, std::numeric_limits<int32_t>::max()}) {
    EXPECT_NAMES(with_node(1, [&](gpujoin_node& node) { node.column = column; }), kInvalid,
                 ("spec.residual.nodes[1].column is " + std::to_string(column)).c_str());
  }
  EXPECT_NAMES(with_node(0, [](gpujoin_node& node) { node.side = 0; }), kInvalid,
               "spec.residual.nodes[0].side is 0");
  EXPECT_NAMES(with_node(0, [](gpujoin_node& node) { node.side = 3; }), kInvalid,
               "spec.residual.nodes[0].side is 3");
  EXPECT_NAMES(with_node(2, [](gpujoin_node& node) { node.side = GPUJOIN_SIDE_LEFT; }), kInvalid,
               "spec.residual.nodes[2].side is given");
  EXPECT_NAMES(with_node(2, [](gpujoin_node& node) { node.column = 1; }), kInvalid,
               "spec.residual.nodes[2].column is given");
  EXPECT_NAMES(with_node(0, [&](gpujoin_node& node) { node.values = relation.get(); }), kInvalid,
               "spec.residual.nodes[0].values is given");
}

TEST_F(ConditionTest, ConstantsAreRelationsOfTheContext) {
  auto const with_constant = [&](const gpujoin_relation* values, int32_t column) {
    return with_node(1, [&](gpujoin_node& node) {
      node = node_of(GPUJOIN_OPERATOR_CONSTANT, 0);
      node.values = values;
      node.column = column;
    });
  };
  EXPECT_OK(with_constant(constant.get(), 0));
  EXPECT_NAMES(with_constant(nullptr, 0), kInvalid, "spec.residual.nodes[1].values");
  EXPECT_NAMES(with_constant(constant.get(), 1), kInvalid, "spec.residual.nodes[1].column is 1");
  EXPECT_NAMES(with_constant(empty.get(), 0), kInvalid, "spec.residual.nodes[1].values has no row");
  EXPECT_NAMES(with_constant(of_another.get(), 0), kInvalid,
               "spec.residual.nodes[1].values was made from another context");
  gpujoin_relation* const destroyed = make_relation(context, table).get();
  EXPECT_NAMES(with_constant(destroyed, 0), kInvalid, "spec.residual.nodes[1].values");
  // A list may have no row.
  nodes = {nodes[0], node_of(GPUJOIN_OPERATOR_IN, 1)};
  nodes[1].values = empty.get();
  EXPECT_OK(with_nodes());
}

TEST_F(ConditionTest, FourThousandNodesAreNotTooDeep) {
  for (int32_t i = 0; i < 4093; ++i) nodes.push_back(node_of(GPUJOIN_OPERATOR_NOT, 1));
  EXPECT_OK(with_nodes());
  nodes.push_back(node_of(GPUJOIN_OPERATOR_NOT, 1));
  EXPECT_NAMES(with_nodes(), kInvalid, "spec.residual.node_count is 4097");
}

TEST_F(ConditionTest, NoValueEndsTheJoinAndLeavesNothing) {
  nodes = {column_of_side(GPUJOIN_SIDE_LEFT, 0), column_of_side(GPUJOIN_SIDE_RIGHT, 0),
           node_of(GPUJOIN_OPERATOR_QUOTIENT, 2), column_of_side(GPUJOIN_SIDE_LEFT, 0),
           node_of(GPUJOIN_OPERATOR_EQUAL, 2)};
  EXPECT_NAMES(with_nodes(), GPUJOIN_ERROR_EVALUATION,
               "spec.residual.nodes[2]: a division by zero in left row");
}

}  // namespace
