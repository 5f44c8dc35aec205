// scan_keys_cuda_test.cpp: what follows when a scan of the build keys stands against the table of
// addresses that was planned without a look: of sides in order a merge, of repeated keys another
// side or partitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <unordered_set>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

struct Shape {
  std::string name;
  size_t left;
  size_t right;
  uint64_t left_keys;  // that are drawn from; as many as rows: each once
  uint64_t right_keys;
  bool in_order;
  std::string expected;  // in the plan that joined
  std::string in_vain;   // of the attempts before it
};

// Rows in the order of the first column, all columns alike.
HostRelation in_order(const HostRelation& relation) {
  std::vector<uint32_t> order(relation.rows);
  std::iota(order.begin(), order.end(), 0U);
  auto const key_of = [&](uint32_t row) {
    int32_t key = 0;
    std::memcpy(&key, &relation.columns[0].data[size_t{row} * sizeof(key)], sizeof(key));
    return key;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
  HostRelation sorted = relation;
  for (size_t i = 0; i < relation.columns.size(); ++i) {
    auto const width = static_cast<size_t>(relation.columns[i].width);
    for (size_t row = 0; row < relation.rows; ++row) {
      std::memcpy(&sorted.columns[i].data[row * width],
                  &relation.columns[i].data[order[row] * width], width);
    }
  }
  return sorted;
}

HostRelation relation_of(const Shape& shape, bool left, uint64_t stride) {
  size_t const rows = left ? shape.left : shape.right;
  RelationShape made{.rows = rows, .key_width = 4};
  made.distinct_keys = left ? shape.left_keys : shape.right_keys;
  made.key_stride = stride;
  made.unique_keys = made.distinct_keys == rows;
  HostRelation const relation = random_relation(made, left ? 11 : 12);
  return shape.in_order ? in_order(relation) : relation;
}

TEST(ScanKeys, LeadToAnotherJoin) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  constexpr size_t kMany = 1'900'000;
  constexpr size_t kFewer = 1'600'000;
  Shape const shapes[] = {
      {"both in order, foreign keys", kFewer, kMany, kFewer, kFewer, true, "match=merge_tiles",
       "both sides lie in the order of their keys"},
      {"both in order, unique", kMany, kFewer, kMany, kFewer, true, "build=left",
       "both sides lie in the order of their keys"},
      {"both in order, all repeated", kFewer, kMany, kFewer / 2, kFewer / 2, true,
       "match=merge_tiles", "both sides lie in the order of their keys"},
      {"in no order, the smaller side repeats", kMany, kFewer, kMany, kFewer / 3, false, "",
       "build keys repeat"},
      {"in no order, foreign keys", kFewer, kMany, kFewer, kFewer, false, "",
       "keys are too far apart"},
  };
  constexpr uint64_t kSparse = 701;
  columns::JoinSpec spec;
  spec.materialize = true;
  spec.left_columns = {0, 3};
  spec.right_columns = {3};
  for (Shape const& shape : shapes) {
    for (uint64_t const stride : {kSparse, uint64_t{1}}) {
      if (stride == 1 && !shape.in_order) continue;
      SCOPED_TRACE(shape.name + ", stride " + std::to_string(stride));
      HostRelation const left = relation_of(shape, true, stride);
      HostRelation const right = relation_of(shape, false, stride);
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      execute::PlannedJoin join =
          execute::make_plan(*queue, register_relation(*queue, left, true),
                             register_relation(*queue, right, true), spec, options);
      ASSERT_FALSE(join.choice.sample.sampled);
      EXPECT_EQ(join.choice.plan().match, plan::Match::kDirectTable);
      auto const result = execute::execute(*queue, join);
      EXPECT_TRUE(rows_of(*queue, *result) == reference_join(left, right, spec));
      if (stride != kSparse) continue;
      EXPECT_NE(result->statistics.plan.find(shape.expected), std::string::npos)
          << result->statistics.plan;
      std::string all;
      for (columns::StageStatistics const& stage : result->statistics.stages)
        all += stage.technique;
      EXPECT_NE(all.find(shape.in_vain), std::string::npos) << all;
    }
  }
}

// A side that comes out alone, and of whose rows so few have a key that one launch would join them:
// it is planned for all, and a table of which any row of a key will do has nothing behind it.
TEST(ScanKeys, LeaveAPlanForManyRowsToFewKeys) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  RelationShape shape{.rows = 1'250'000, .key_width = 4};
  shape.distinct_keys = 50'000;
  shape.null_keys = 0.95;
  HostRelation const left = random_relation(shape, 21);
  shape.rows = 900'000;
  shape.distinct_keys = 100'000;
  HostRelation const right = random_relation(shape, 22);
  std::unordered_set<std::string> keys;
  for (size_t row = 0; row < right.rows; ++row) {
    if (right.columns[0].is_valid(row)) keys.emplace(right.columns[0].at(row));
  }
  int64_t matched = 0;
  for (size_t row = 0; row < left.rows; ++row) {
    bool const has_key = left.columns[0].is_valid(row);
    matched += has_key && keys.contains(left.columns[0].at(row)) ? 1 : 0;
  }
  ASSERT_GT(matched, 0);
  for (gpujoin_side const build : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
    for (columns::JoinKind const kind :
         {columns::JoinKind::kLeftSemi, columns::JoinKind::kLeftAnti}) {
      columns::JoinSpec spec;
      spec.kind = kind;
      spec.materialize = true;
      spec.left_columns = {0, 3};
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.algorithm = GPUJOIN_ALGORITHM_DIRECT_CARRIED;
      options.build_side = build;
      auto const result = execute::execute(
          *queue, execute::make_plan(*queue, register_relation(*queue, left, true),
                                     register_relation(*queue, right, true), spec, options));
      bool const is_semi = kind == columns::JoinKind::kLeftSemi;
      EXPECT_EQ(result->rows, is_semi ? matched : static_cast<int64_t>(left.rows) - matched);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
