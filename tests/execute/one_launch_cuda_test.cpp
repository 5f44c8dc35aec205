// one_launch_cuda_test.cpp: joins of few rows, again and again on one context: what a launch leaves
// behind, and what it tells of its time.
#include <gtest/gtest.h>

#include <algorithm>
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

// The rows are compared.
std::unique_ptr<columns::JoinResult> expect_join(const OwnQueue& queue, const HostRelation& left,
                                                 const HostRelation& right,
                                                 gpujoin_algorithm algorithm,
                                                 const columns::JoinSpec& spec,
                                                 gpujoin_side built = GPUJOIN_SIDE_RIGHT) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.build_side = built;
  auto result = execute::execute(
      queue, execute::make_plan(queue, register_relation(queue, left, true),
                                register_relation(queue, right, true), spec, options, false));
  EXPECT_TRUE(rows_of(queue, *result) == reference_join(left, right, spec));
  return result;
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
        auto const result = expect_join(queue, left, right, algorithm, spec);
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

// Join, with both sides' columns of every width, whose rows are compared; the techniques of the
// match, of all attempts.
std::string technique_of(const HostRelation& left, const HostRelation& right,
                         gpujoin_algorithm algorithm, const columns::JoinSpec& spec,
                         gpujoin_side built = GPUJOIN_SIDE_RIGHT) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  auto const result = expect_join(queue, left, right, algorithm, spec, built);
  std::string technique;
  for (columns::StageStatistics const& stage : result->statistics.stages) {
    if (stage.stage == "match") technique += (technique.empty() ? "" : "; ") + stage.technique;
  }
  return technique;
}

columns::JoinSpec all_columns() {
  columns::JoinSpec spec;
  spec.pairs = spec.materialize = true;
  spec.left_columns = {0, 1, 3, 4, 5};
  spec.right_columns = {3, 2, 4, 5};
  return spec;
}

// The smaller side's keys drawn from the larger one's, which are unique; unique ones there; and
// those that repeat on both, more often on either: more rows come out than there is room for at
// first.
TEST(OneLaunch, BuildsOnTheOtherSideWhereKeysAreSeenToRepeat) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kMore = 100'000;
  constexpr size_t kFewer = 70'000;
  constexpr gpujoin_side kAnySide = {};
  struct Way {
    int32_t key_width;
    double nulls;
    bool is_left_larger;
  };
  for (Way const& way :
       {Way{4, 0, true}, Way{4, 0.3, false}, Way{8, 0, false}, Way{8, 0.3, true}}) {
    SCOPED_TRACE("keys of " + std::to_string(way.key_width) + ", NULL " +
                 std::to_string(way.nulls));
    auto const side = [&](size_t rows, uint64_t keys, bool unique) {
      return random_relation(shape_of(rows, way.key_width, keys, 1, unique, way.nulls), keys);
    };
    auto const turns = [&](const HostRelation& larger, const HostRelation& smaller) {
      std::string const technique =
          technique_of(way.is_left_larger ? larger : smaller, way.is_left_larger ? smaller : larger,
                       GPUJOIN_ALGORITHM_AUTOMATIC, all_columns(), kAnySide);
      EXPECT_EQ(technique.find("in vain"), std::string::npos) << technique;
      return technique.find("build keys repeat") != std::string::npos;
    };
    EXPECT_TRUE(turns(side(kMore, kMore, true), side(kFewer, kMore, false)));
    EXPECT_FALSE(turns(side(kMore, kMore, true), side(kFewer, kFewer, true)));
    EXPECT_TRUE(turns(side(kMore, kMore / 2, false), side(kFewer, kFewer / 20, false)));
    EXPECT_FALSE(turns(side(kMore, kMore / 20, false), side(kFewer, kFewer / 2, false)));
  }
}

// Of one block and of all; dense and scattered; more rows than the probe side has, and fewer.
TEST(OneLaunch, ChainsRepeatedKeys) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  for (size_t const rows : {900, 50'000}) {
    for (int32_t const key_width : {4, 8}) {
      for (uint64_t const stride : {uint64_t{1}, uint64_t{0x9e3779b1}}) {
        for (double const nulls : {0.0, 0.3}) {
          for (uint64_t const repeated : {2, 9}) {
            SCOPED_TRACE(std::to_string(rows) + " rows, keys of " + std::to_string(key_width) +
                         ", " + std::to_string(repeated) + " a key, stride " +
                         std::to_string(stride) + ", NULL " + std::to_string(nulls));
            uint64_t const keys = rows / repeated;
            HostRelation const left =
                random_relation({rows / 3, key_width, 4 * keys, stride, nulls, 0, 3}, 41);
            HostRelation const many =
                random_relation({2 * rows, key_width, 2 * keys, stride, nulls, 0, 5}, 42);
            HostRelation const right =
                random_relation({rows, key_width, keys, stride, nulls, 0, 3}, 43);
            for (HostRelation const* probe : {&left, &many}) {
              for (gpujoin_algorithm const algorithm :
                   {GPUJOIN_ALGORITHM_DIRECT_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
                std::string const technique = technique_of(*probe, right, algorithm, all_columns());
                EXPECT_EQ(technique.find("in vain"), std::string::npos) << technique;
              }
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// A lane would walk a long chain alone: partitions join what has one.
TEST(OneLaunch, LeavesKeysOfManyRows) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  HostRelation const left = random_relation({300, 4, 40, 1, 0, 0, 0}, 51);
  for (size_t const rows : {64, 65, 3000, 70'000}) {
    SCOPED_TRACE(rows);
    HostRelation const right = random_relation({rows, 4, 1, 1, 0, 0, 0}, 52);
    std::string const technique =
        technique_of(left, right, GPUJOIN_ALGORITHM_DIRECT_CARRIED, all_columns());
    EXPECT_EQ(technique.find("in vain") != std::string::npos, rows > 64) << technique;
  }
}

// Of NULLs, some of which lie beneath whole warps and blocks, no key is in the table or asked for.
TEST(OneLaunch, LeavesOutNulls) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  for (size_t const rows : {1000, 40'000}) {
    for (double const nulls : {0.1, 0.97, 1.0}) {
      for (int64_t const offset : {0, 5}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, NULL " + std::to_string(nulls));
        RelationShape build{rows, 4, 2 * rows, 1, nulls, 0.2, offset};
        build.unique_keys = true;
        HostRelation const right = random_relation(build, 61);
        HostRelation const left =
            random_relation({2 * rows, 4, 2 * rows, 1, 1 - nulls, 0, offset + 1}, 62);
        for (gpujoin_algorithm const algorithm :
             {GPUJOIN_ALGORITHM_DIRECT_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
          std::string const technique = technique_of(left, right, algorithm, all_columns());
          EXPECT_EQ(technique.find("in vain"), std::string::npos) << technique;
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Of few build rows so many probe rows are asked about that only chains of few output rows are
// written. Dense and scattered keys that come once or twice, few of which match; and thrice, all.
TEST(OneLaunch, JoinsManyRowsWithFew) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kBuildRows = 100'000;
  constexpr size_t kProbeRows = 2'100'000;
  constexpr uint64_t kFar = 0x9e3779b1;
  struct Case {
    uint64_t stride;
    uint64_t repeated;
    uint64_t spread;  // of keys that are asked for, one of which the build side has
    double nulls;
    bool in_vain;
  };
  columns::JoinSpec spec;
  spec.materialize = true;
  spec.left_columns = {0, 5, 4};
  spec.right_columns = {5, 4};
  for (Case const& of :
       {Case{1, 1, 9, 0, false}, Case{kFar, 1, 9, 0, false}, Case{1, 2, 9, 0.2, false},
        Case{kFar, 2, 9, 0, false}, Case{1, 3, 1, 0, true}}) {
    SCOPED_TRACE("stride " + std::to_string(of.stride) + ", " + std::to_string(of.repeated) +
                 " a key");
    uint64_t const keys = kBuildRows / of.repeated;
    RelationShape build{kBuildRows, 4, keys, of.stride, of.nulls, 0, 0};
    build.unique_keys = of.repeated == 1;
    HostRelation const right = random_relation(build, 71);
    HostRelation const left =
        random_relation({kProbeRows, 4, of.spread * keys, of.stride, 0, 0, 0}, 72);
    std::string const technique = technique_of(left, right, GPUJOIN_ALGORITHM_DIRECT_CARRIED, spec);
    EXPECT_EQ(technique.find("in vain") != std::string::npos, of.in_vain) << technique;
    if (HasFailure()) return;
  }
}

// Which a few rows tell, before any is chained.
TEST(OneLaunch, LeavesAKeyWithALargePartOfTheRows) {
  if (open_queue(GPUJOIN_DEVICE_CUDA) == nullptr) GTEST_SKIP() << "no CUDA device";
  for (size_t const rows : {20'000, 300'000}) {
    for (int32_t const key_width : {4, 8}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, keys of " + std::to_string(key_width));
      HostRelation right = random_relation({rows, key_width, 2 * rows, 3, 0.1, 0, 0}, 81);
      HostColumn& keys = right.columns[0];
      auto const width = static_cast<size_t>(key_width);
      for (size_t row = 0; row < rows; row += 7) {
        std::copy_n(keys.data.begin(), width,
                    keys.data.begin() + static_cast<ptrdiff_t>(row * width));
      }
      HostRelation const left = random_relation({2000, key_width, 2 * rows, 3, 0, 0, 0}, 82);
      std::string const technique =
          technique_of(left, right, GPUJOIN_ALGORITHM_DIRECT_CARRIED, all_columns());
      EXPECT_NE(technique.find("in vain"), std::string::npos) << technique;
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
