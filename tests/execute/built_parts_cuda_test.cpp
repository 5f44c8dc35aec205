// built_parts_cuda_test.cpp: parts of a table by the range of the build keys that a sample read,
// which may not be that of all.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

constexpr size_t kBuildRows = 20000;
constexpr int64_t kPlaces = 24000;

// Keys from `lowest` on.
void move_keys(HostRelation* relation, int64_t lowest) {
  HostColumn& key = relation->columns[0];
  auto const width = static_cast<size_t>(key.width);
  for (size_t row = 0; row < relation->rows; ++row) {
    uint64_t value = 0;
    std::memcpy(&value, &key.data[row * width], width);
    value += static_cast<uint64_t>(lowest);
    std::memcpy(&key.data[row * width], &value, width);
  }
}

struct Columns {
  bool pairs = true;
  std::vector<int32_t> left = {0, 3};
  std::vector<int32_t> right = {3};
};

struct Parts {
  int32_t key_width;
  bool are_hashed;
};

class DrawnRanges : public ::testing::TestWithParam<Parts> {
 protected:
  void SetUp() override {
    queue_ = open_queue(GPUJOIN_DEVICE_CUDA);
    if (queue_ == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  }
  base::Queue& queue() { return *queue_; }

 private:
  OwnQueue queue_;
};

TEST_P(DrawnRanges, AreTriedAndNotTrusted) {
  int32_t const key_width = GetParam().key_width;
  bool const are_hashed = GetParam().are_hashed;
  int64_t const least = key_width == 4 ? INT32_MIN : INT64_MIN;
  for (int64_t const lowest : {int64_t{0}, int64_t{-9000}, least + 3, -least - 1 - kPlaces}) {
    HostRelation left = random_relation({.rows = kBuildRows,
                                         .key_width = key_width,
                                         .distinct_keys = static_cast<uint64_t>(kPlaces),
                                         .unique_keys = true},
                                        5);
    HostRelation right = random_relation({.rows = 50000,
                                          .key_width = key_width,
                                          .distinct_keys = static_cast<uint64_t>(kPlaces) + 500},
                                         6);
    move_keys(&left, lowest);
    move_keys(&right, lowest);
    auto const left_relation = register_relation(queue(), left, true);
    auto const right_relation = register_relation(queue(), right, true);
    columns::JoinSpec const spec = spec_of(Columns());
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.transform = GPUJOIN_TRANSFORM_WRITE_COMBINED;
    options.match = are_hashed ? GPUJOIN_MATCH_GLOBAL_TABLE : GPUJOIN_MATCH_DIRECT_TABLE;
    options.filter = GPUJOIN_FILTER_NONE;
    options.build_side = GPUJOIN_SIDE_LEFT;
    std::vector<Row> const expected = reference_join(left, right, spec);
    int64_t const highest = lowest + kPlaces - 1;
    for (plan::KeyRange const& drawn :
         {plan::KeyRange{lowest, highest, true}, plan::KeyRange{lowest + 15, highest - 15, false},
          plan::KeyRange{lowest + 15, highest - 15, true},  // wrong
          plan::KeyRange{lowest + 5000, highest - 100, false}, plan::KeyRange{},
          plan::KeyRange{INT64_MIN, INT64_MAX, false}}) {
      SCOPED_TRACE(std::to_string(lowest) + ", drawn from " + std::to_string(drawn.low) + " to " +
                   std::to_string(drawn.high));
      execute::PlannedJoin join =
          execute::make_plan(queue(), left_relation, right_relation, spec, options);
      join.choice.sample.sampled = join.choice.sample.counted = true;
      join.choice.sample.build_range = drawn;
      auto const result = execute::execute(queue(), join);
      std::string const match = are_hashed ? "global_table" : "direct_table";
      EXPECT_NE(result->statistics.plan.find("transform=write_combined match=" + match),
                std::string::npos)
          << result->statistics.plan;
      EXPECT_TRUE(rows_of(queue(), *result) == expected);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(KeyWidths, DrawnRanges,
                         ::testing::Values(Parts{4, false}, Parts{8, false}, Parts{4, true},
                                           Parts{8, true}),
                         [](const auto& parts) {
                           return std::string(parts.param.are_hashed ? "Hashed" : "Direct") +
                                  std::to_string(parts.param.key_width);
                         });

// Keys of 8 bytes that lie too far apart to be told by 32 bits are joined otherwise.
TEST(HashedParts, OfScatteredKeysAreLeftToAnotherJoin) {
  OwnQueue const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  HostRelation left = random_relation(
      {.rows = 3000, .key_width = 8, .distinct_keys = 4000, .unique_keys = true}, 7);
  HostRelation const right =
      random_relation({.rows = 9000, .key_width = 8, .distinct_keys = 4000}, 8);
  int64_t const far = int64_t{1} << 40;
  std::memcpy(left.columns[0].data.data(), &far, sizeof(far));
  auto const left_relation = register_relation(*queue, left, true);
  auto const right_relation = register_relation(*queue, right, true);
  columns::JoinSpec const spec = spec_of(Columns());
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.transform = GPUJOIN_TRANSFORM_WRITE_COMBINED;
  options.match = GPUJOIN_MATCH_GLOBAL_TABLE;
  options.build_side = GPUJOIN_SIDE_LEFT;
  execute::PlannedJoin const join =
      execute::make_plan(*queue, left_relation, right_relation, spec, options);
  auto const result = execute::execute(*queue, join);
  EXPECT_EQ(result->statistics.plan.find("write_combined"), std::string::npos);
  EXPECT_TRUE(rows_of(*queue, *result) == reference_join(left, right, spec));
}

}  // namespace
}  // namespace gpujoin::tests
