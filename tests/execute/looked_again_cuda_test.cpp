// looked_again_cuda_test.cpp: a join that was planned without a look, whose build keys repeat, is
// looked at before it is joined in another way.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "src/plan/attempts.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

// The right side is the smaller one.
struct Shape {
  std::string name;
  uint64_t left_keys = 600'000;  // that are drawn from; the right side has the first of them
  double null_keys = 0;
  int32_t key_width = 4;
  bool is_other = false;  // plan than the one that follows without a look
};

class LookedAgain : public ::testing::Test {
 protected:
  void SetUp() override {
    queue_ = open_queue(GPUJOIN_DEVICE_CUDA);
    if (queue_ == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  }

  static HostRelation relation_of(const Shape& shape, bool left) {
    RelationShape made{.rows = left ? size_t{2'200'000} : size_t{400'000}};
    made.key_width = shape.key_width;
    made.distinct_keys = left ? shape.left_keys : 60'000;
    // A build side with NULLs goes in partitions at once.
    made.null_keys = left ? shape.null_keys : 0;
    return random_relation(made, left ? 31 : 32);
  }

  static bool has_look(const columns::JoinResult& result) {
    bool found = false;
    for (columns::StageStatistics const& stage : result.statistics.stages) {
      found = found || stage.stage == "look";
    }
    return found;
  }

  execute::PlannedJoin planned(const HostRelation& left, const HostRelation& right,
                               const columns::JoinSpec& spec, const gpujoin_plan_options& options) {
    execute::PlannedJoin join =
        execute::make_plan(*queue_, register_relation(*queue_, left, true),
                           register_relation(*queue_, right, true), spec, options);
    EXPECT_FALSE(join.choice.sample.sampled);
    return join;
  }

  static columns::JoinSpec spec_of(columns::JoinKind kind) {
    columns::JoinSpec spec;
    spec.kind = kind;
    spec.materialize = true;
    spec.left_columns = {0, 3, 4, 5};
    if (!columns::comes_alone(kind)) spec.right_columns = {3, 4};
    return spec;
  }

  OwnQueue queue_;
};

TEST_F(LookedAgain, RowsAreThoseOfTheJoin) {
  Shape const shapes[] = {
      {.name = "a tenth match"},
      {.name = "a tenth match, 8 bytes", .key_width = 8},
      {.name = "some are NULL", .left_keys = 1'200'000, .null_keys = 0.3, .is_other = true},
  };
  gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
  columns::JoinSpec const spec = spec_of(columns::JoinKind::kInner);
  for (Shape const& shape : shapes) {
    SCOPED_TRACE(shape.name);
    HostRelation const left = relation_of(shape, true);
    HostRelation const right = relation_of(shape, false);
    execute::PlannedJoin const join = planned(left, right, spec, options);
    auto const result = execute::execute(*queue_, join);
    EXPECT_TRUE(rows_of(*queue_, *result) == reference_join(left, right, spec));
    EXPECT_TRUE(has_look(*result)) << result->statistics.plan;
    std::vector<plan::Attempt> const& attempts = join.choice.attempts;
    plan::Attempt const& unseen =
        plan::attempt_after(attempts, attempts.front(), plan::Finding::kKeysRepeat);
    EXPECT_EQ(result->statistics.plan != plan::to_text(unseen.plan), shape.is_other)
        << result->statistics.plan;
    EXPECT_NE(result->statistics.reason(), execute::why_planned(join)());
  }
}

// Of keys that seldom repeat a sample sees none: a table of them is not tried once more.
TEST_F(LookedAgain, ATableInVainIsNotTriedAgain) {
  Shape const shape = {.name = "few repeat"};
  HostRelation const left = relation_of(shape, true);
  HostRelation right = relation_of(shape, false);
  HostColumn& keys = right.columns[0];
  for (uint32_t row = 0; row < right.rows; ++row) {
    std::memcpy(&keys.data[row * sizeof(row)], &row, sizeof(row));
  }
  std::memcpy(keys.data.data(), &keys.data[sizeof(uint32_t)], sizeof(uint32_t));
  columns::JoinSpec const spec = spec_of(columns::JoinKind::kInner);
  gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
  auto const result = execute::execute(*queue_, planned(left, right, spec, options));
  EXPECT_TRUE(rows_of(*queue_, *result) == reference_join(left, right, spec));
  int in_vain = 0;
  for (columns::StageStatistics const& stage : result->statistics.stages) {
    in_vain += stage.technique.find("build keys repeat") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(in_vain, 1);
}

// Others have as many rows as the inner join says, and those without a match.
TEST_F(LookedAgain, KindsHaveTheirRows) {
  Shape const shape;
  HostRelation const left = relation_of(shape, true);
  HostRelation const right = relation_of(shape, false);
  columns::JoinSpec spec = spec_of(columns::JoinKind::kInner);
  spec.pairs = true;
  std::vector<Row> const pairs = reference_join(left, right, spec);
  std::set<std::string> matched;
  for (Row const& pair : pairs) matched.insert(pair.front());
  auto const matches = static_cast<int64_t>(matched.size());
  auto const left_rows = static_cast<int64_t>(left.rows);
  struct Kind {
    columns::JoinKind kind;
    int64_t rows;
    bool is_looked_at;
  };
  auto const inner = static_cast<int64_t>(pairs.size());
  gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
  for (Kind const& one : {Kind{columns::JoinKind::kLeft, inner + left_rows - matches, true},
                          Kind{columns::JoinKind::kLeftSemi, matches, false},
                          Kind{columns::JoinKind::kLeftAnti, left_rows - matches, false}}) {
    auto const result = execute::execute(*queue_, planned(left, right, spec_of(one.kind), options));
    EXPECT_EQ(result->rows, one.rows) << static_cast<int>(one.kind);
    EXPECT_EQ(has_look(*result), one.is_looked_at) << result->statistics.plan;
  }
}

TEST_F(LookedAgain, WhatIsNamedStays) {
  Shape const shape;
  HostRelation const left = relation_of(shape, true);
  HostRelation const right = relation_of(shape, false);
  columns::JoinSpec const spec = spec_of(columns::JoinKind::kInner);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = GPUJOIN_ALGORITHM_DIRECT_CARRIED;
  auto const result = execute::execute(*queue_, planned(left, right, spec, options));
  EXPECT_TRUE(rows_of(*queue_, *result) == reference_join(left, right, spec));
  EXPECT_FALSE(has_look(*result));
  EXPECT_EQ(result->statistics.plan.find("filter="), std::string::npos);
}

}  // namespace
}  // namespace gpujoin::tests
