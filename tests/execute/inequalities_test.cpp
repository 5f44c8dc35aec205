// inequalities_test.cpp: what of a condition a range join takes.
#include "src/execute/inequalities.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gpujoin::test {
namespace {

using columns::Condition;
using columns::ConditionNode;

constexpr bool kLeft = true;
constexpr bool kRight = false;

// In postfix order.
class Conditions {
 public:
  Conditions& column(bool of_left, int32_t number) {
    ConditionNode& node = add(GPUJOIN_OPERATOR_COLUMN, 0);
    node.of_left = of_left;
    node.column = number;
    return *this;
  }
  Conditions& operation(gpujoin_operator operation, int32_t arguments) {
    add(operation, arguments);
    return *this;
  }
  // Left column a with right column b.
  Conditions& compared(gpujoin_operator with, int32_t a, int32_t b) {
    return column(kLeft, a).column(kRight, b).operation(with, 2);
  }
  const Condition& made() const { return condition_; }

 private:
  ConditionNode& add(gpujoin_operator operation, int32_t arguments) {
    ConditionNode node;
    node.operation = operation;
    node.argument_count = arguments;
    condition_.nodes.push_back(std::move(node));
    return condition_.nodes.back();
  }
  Condition condition_;
};

// Three integers and a text a side.
columns::Relation relation() {
  columns::Relation made;
  for (char const* name : {"a", "b", "c", "text"}) {
    columns::ColumnView column;
    column.name = name;
    column.type = column.name == "text" ? GPUJOIN_TYPE_UTF8 : GPUJOIN_TYPE_INT32;
    column.layout = columns::layout_of(column.type);
    column.width = columns::width_of(column.type);
    column.arrow_format = columns::arrow_format_of(column.type);
    made.columns.push_back(column);
  }
  return made;
}

std::string taken(const Conditions& conditions, bool* is_all = nullptr) {
  columns::Relation const left = relation();
  columns::Relation const right = relation();
  auto const found = execute::inequalities_of(conditions.made(), left, right);
  if (is_all != nullptr) *is_all = found.is_all;
  return execute::text_of(found, left, right);
}

TEST(Inequalities, AreOfAColumnOfEachSide) {
  bool is_all = false;
  EXPECT_EQ(taken(Conditions().compared(GPUJOIN_OPERATOR_LESS, 0, 1), &is_all), "left.a < right.b");
  EXPECT_TRUE(is_all);
  EXPECT_EQ(taken(Conditions().column(kRight, 1).column(kLeft, 2).operation(
                GPUJOIN_OPERATOR_GREATER_EQUAL, 2)),
            "left.c <= right.b");
  EXPECT_EQ(taken(Conditions().compared(GPUJOIN_OPERATOR_NOT_EQUAL, 0, 1)), "");
  EXPECT_EQ(taken(Conditions().compared(GPUJOIN_OPERATOR_LESS, 3, 3)), "");
  EXPECT_EQ(
      taken(Conditions().column(kLeft, 0).column(kLeft, 1).operation(GPUJOIN_OPERATOR_LESS, 2)),
      "");
}

TEST(Inequalities, EqualAndBetweenAreTwo) {
  bool is_all = false;
  EXPECT_EQ(taken(Conditions().compared(GPUJOIN_OPERATOR_EQUAL, 0, 1), &is_all),
            "left.a <= right.b and left.a >= right.b");
  EXPECT_TRUE(is_all);
  Conditions const between = Conditions().column(kLeft, 0).column(kRight, 1).column(kRight, 2);
  EXPECT_EQ(taken(Conditions(between).operation(GPUJOIN_OPERATOR_BETWEEN, 3), &is_all),
            "left.a >= right.b and left.a <= right.c");
  EXPECT_TRUE(is_all);
  // One bound is of the same side.
  Conditions const half = Conditions().column(kLeft, 0).column(kRight, 1).column(kLeft, 2);
  EXPECT_EQ(taken(Conditions(half).operation(GPUJOIN_OPERATOR_BETWEEN, 3), &is_all),
            "left.a >= right.b");
  EXPECT_FALSE(is_all);
}

TEST(Inequalities, OfAConjunctionThoseThatBoundOneColumnComeFirst) {
  bool is_all = true;
  Conditions conditions;
  conditions.compared(GPUJOIN_OPERATOR_LESS, 0, 0);
  conditions.compared(GPUJOIN_OPERATOR_GREATER, 1, 1).operation(GPUJOIN_OPERATOR_AND, 2);
  EXPECT_EQ(taken(conditions, &is_all), "left.a < right.a and left.b > right.b");
  EXPECT_TRUE(is_all);
  conditions.compared(GPUJOIN_OPERATOR_LESS_EQUAL, 1, 2).operation(GPUJOIN_OPERATOR_AND, 2);
  EXPECT_EQ(taken(conditions, &is_all), "left.b > right.b and left.b <= right.c");
  EXPECT_FALSE(is_all);
}

TEST(Inequalities, NotOfADisjunctionOrANegation) {
  Conditions conditions;
  conditions.compared(GPUJOIN_OPERATOR_LESS, 0, 0).compared(GPUJOIN_OPERATOR_LESS, 1, 1);
  EXPECT_EQ(taken(Conditions(conditions).operation(GPUJOIN_OPERATOR_OR, 2)), "");
  EXPECT_EQ(taken(Conditions(conditions)
                      .operation(GPUJOIN_OPERATOR_AND, 2)
                      .operation(GPUJOIN_OPERATOR_NOT, 1)),
            "");
}

TEST(Inequalities, NullsCountWhereTheConditionIsNotFalseOrMayBeNoValue) {
  columns::Relation const both = relation();
  Conditions conditions;
  conditions.compared(GPUJOIN_OPERATOR_LESS, 0, 0);
  EXPECT_FALSE(execute::inequalities_of(conditions.made(), both, both).with_unknown);
  Conditions not_false = conditions;
  not_false.operation(GPUJOIN_OPERATOR_IS_FALSE, 1).operation(GPUJOIN_OPERATOR_NOT, 1);
  auto const found = execute::inequalities_of(not_false.made(), both, both);
  EXPECT_TRUE(found.with_unknown);
  EXPECT_EQ(found.taken.size(), 1U);
  conditions.compared(GPUJOIN_OPERATOR_ADD, 1, 1).column(kLeft, 2);
  conditions.operation(GPUJOIN_OPERATOR_EQUAL, 2).operation(GPUJOIN_OPERATOR_AND, 2);
  EXPECT_TRUE(execute::inequalities_of(conditions.made(), both, both).with_unknown);
}

}  // namespace
}  // namespace gpujoin::test
