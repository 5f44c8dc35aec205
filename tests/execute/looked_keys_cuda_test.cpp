// looked_keys_cuda_test.cpp: tables of dense keys by the range that the look told which chose the
// plan, of rows that one launch does not join.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

struct Keys {
  int32_t width;
  uint64_t stride;
  double nulls;  // of both sides: then the look has not told it of the rows that are left
};

struct Columns {
  bool pairs = true;
  std::vector<int32_t> left = {0, 3};
  std::vector<int32_t> right = {3};
};

class LookedKeys : public ::testing::TestWithParam<Keys> {};

// The range and the bits that differ, as a look at all rows has them.
void tell_keys(const HostRelation& relation, plan::SampleStatistics* sample) {
  HostColumn const& key = relation.columns[0];
  auto const width = static_cast<size_t>(key.width);
  uint64_t any = 0;
  uint64_t all = ~uint64_t{0};
  for (size_t row = 0; row < relation.rows; ++row) {
    if (!key.is_valid(row)) continue;
    uint64_t bits = 0;
    std::memcpy(&bits, &key.data[row * width], width);
    any |= bits;
    all &= bits;
    auto const value =
        width == 4 ? int64_t{static_cast<int32_t>(bits)} : static_cast<int64_t>(bits);
    sample->build_range.low = std::min(sample->build_range.low, value);
    sample->build_range.high = std::max(sample->build_range.high, value);
  }
  sample->build_range.exact = true;
  sample->build_varying = any & ~all;
  sample->sampled = sample->counted = true;
}

TEST_P(LookedKeys, AreTheTable) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  constexpr size_t kBuildRows = 1'300'000;
  constexpr size_t kProbeRows = 900'000;
  RelationShape shape{.rows = kBuildRows, .key_width = GetParam().width};
  shape.distinct_keys = kBuildRows + 5000;
  shape.key_stride = GetParam().stride;
  shape.null_keys = GetParam().nulls;
  shape.unique_keys = true;
  HostRelation const left = random_relation(shape, 1);
  shape.rows = kProbeRows;
  shape.distinct_keys = 2 * kBuildRows;
  shape.unique_keys = false;
  HostRelation const right = random_relation(shape, 2);
  columns::JoinSpec const spec = spec_of(Columns());
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = GPUJOIN_ALGORITHM_DIRECT_CARRIED;
  options.build_side = GPUJOIN_SIDE_LEFT;
  execute::PlannedJoin join =
      execute::make_plan(*queue, register_relation(*queue, left, true),
                         register_relation(*queue, right, true), spec, options);
  tell_keys(left, &join.choice.sample);
  auto const result = execute::execute(*queue, join);
  EXPECT_NE(result->statistics.plan.find("match=direct_table"), std::string::npos)
      << result->statistics.plan;
  EXPECT_TRUE(rows_of(*queue, *result) == reference_join(left, right, spec));
}

// A filter by bits where what the sample says of the keys is true, or is not: in steps of which
// some keys are not, in a part of their range, or of the other side than the plan builds on.
TEST_P(LookedKeys, AreFilteredWhateverTheSampleSays) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  RelationShape shape{.rows = 40'000, .key_width = GetParam().width};
  shape.distinct_keys = 50'000;
  shape.key_stride = GetParam().stride;
  shape.null_keys = GetParam().nulls;
  shape.unique_keys = true;
  HostRelation const left = random_relation(shape, 1);
  shape.rows = 60'000;
  shape.distinct_keys = 200'000;
  shape.unique_keys = false;
  HostRelation const right = random_relation(shape, 2);
  columns::JoinSpec const spec = spec_of(Columns());
  auto const expected = reference_join(left, right, spec);
  for (gpujoin_side const side : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
    for (gpujoin_algorithm const algorithm :
         {GPUJOIN_ALGORITHM_PHJ_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.algorithm = algorithm;
      options.filter = GPUJOIN_FILTER_KEY_BITS;
      options.build_side = side;
      execute::PlannedJoin join =
          execute::make_plan(*queue, register_relation(*queue, left, true),
                             register_relation(*queue, right, true), spec, options);
      plan::SampleStatistics of_left;
      tell_keys(left, &of_left);
      plan::SampleStatistics of_right;
      tell_keys(right, &of_right);
      bool const as_left = plan::build_side_of(join.request) == plan::Side::kLeft;
      plan::SampleStatistics told = as_left ? of_left : of_right;
      told.probe_range = (as_left ? of_right : of_left).build_range;
      plan::SampleStatistics part = told;
      part.build_range.exact = part.probe_range.exact = false;
      part.build_range.high = part.probe_range.high = part.build_range.low + 12'000;
      plan::SampleStatistics upper = told;
      upper.build_range.exact = upper.probe_range.exact = false;
      upper.build_range.low = upper.probe_range.low = told.build_range.low + 4'801;
      plan::SampleStatistics coarse = told;
      coarse.build_varying &= ~uint64_t{31};
      for (plan::SampleStatistics const& sample : {told, part, upper, coarse}) {
        join.choice.sample = sample;
        auto const result = execute::execute(*queue, join);
        EXPECT_NE(result->statistics.plan.find("filter=key_bits"), std::string::npos)
            << result->statistics.plan;
        EXPECT_TRUE(rows_of(*queue, *result) == expected) << result->statistics.plan;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, LookedKeys,
                         ::testing::Values(Keys{4, 1, 0}, Keys{8, 8, 0}, Keys{4, 4, 0.1}));

}  // namespace
}  // namespace gpujoin::tests
