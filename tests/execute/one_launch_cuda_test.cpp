// one_launch_cuda_test.cpp: joins of few rows, again and again on one context: what a launch leaves
// behind, and what it tells of its time.
#include <gtest/gtest.h>

#include <string>

#include "src/execute/execute.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

struct Sides {
  std::string name;
  RelationShape left;
  RelationShape right;  // is built on
};

RelationShape shape_of(size_t rows, int32_t key_width, uint64_t distinct, uint64_t stride,
                       bool unique, double nulls = 0) {
  RelationShape shape{rows, key_width, distinct, stride, nulls, nulls, 3};
  shape.unique_keys = unique;
  return shape;
}

// One block and all blocks; dense, scattered, repeated and nullable keys.
std::vector<Sides> all_sides() {
  std::vector<Sides> all;
  for (size_t const rows : {1000, 30000}) {
    for (int32_t const key_width : {4, 8}) {
      uint64_t const far = key_width == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15;
      std::string const of = std::to_string(rows) + " rows, keys of " + std::to_string(key_width);
      all.push_back({"dense, " + of, shape_of(2 * rows, key_width, 2 * rows, 1, false),
                     shape_of(rows, key_width, rows, 1, true)});
      all.push_back({"repeated, " + of, shape_of(100, key_width, rows, 1, false),
                     shape_of(rows, key_width, rows, 1, false)});
      all.push_back({"scattered, " + of, shape_of(2 * rows, key_width, 2 * rows, far, false),
                     shape_of(rows, key_width, 2 * rows, far, true)});
      all.push_back({"nullable, " + of, shape_of(rows, key_width, rows, 1, false, 0.2),
                     shape_of(rows, key_width, 2 * rows, 1, true, 0.2)});
    }
  }
  return all;
}

TEST(OneLaunch, LeavesNothingToTheNext) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device";
  columns::JoinSpec spec;
  spec.pairs = true;
  double told_by_all = 0;
  for (int time = 0; time < 2; ++time) {
    for (Sides const& sides : all_sides()) {
      HostRelation const left = random_relation(sides.left, 31);
      HostRelation const right = random_relation(sides.right, 32);
      for (gpujoin_algorithm const algorithm :
           {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_DIRECT_CARRIED,
            GPUJOIN_ALGORITHM_NOP_CARRIED}) {
        SCOPED_TRACE(sides.name + ", algorithm " + std::to_string(algorithm));
        gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
        options.algorithm = algorithm;
        options.build_side = GPUJOIN_SIDE_RIGHT;
        auto const result = execute::execute(
            queue, execute::make_plan(queue, register_relation(queue, left, true),
                                      register_relation(queue, right, true), spec, options, false));
        EXPECT_TRUE(rows_of(queue, *result) == reference_join(left, right, spec));
        double told = 0;
        for (columns::StageStatistics const& stage : result->statistics.stages) {
          EXPECT_GE(stage.milliseconds, 0) << stage.stage;
          told += stage.milliseconds;
        }
        told_by_all += told;
        EXPECT_LT(told, result->statistics.milliseconds + 0.01) << "the device's clock is coarse";
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(told_by_all, 0)
      << "a join may be shorter than a tick of the device's clock, not all of them";
}

}  // namespace
}  // namespace gpujoin::tests
