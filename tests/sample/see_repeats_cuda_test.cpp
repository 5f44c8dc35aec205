// see_repeats_cuda_test.cpp: of unique keys none is seen to repeat, of others as many as chance
// says.
#include "src/sample/see_repeats.hpp"

#include <algorithm>

#include "kernels/sample/seen_repeats.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using SeeRepeats = GpuTest;

constexpr size_t kRows = 1'500'000;
constexpr uint64_t kKeys = 2'700'000;

class Side {
 public:
  Side(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t width, double nulls)
      : rows(static_cast<int64_t>(keys.size())) {
    HostColumn column = key_column(keys, width);
    if (nulls > 0) set_valid(&column, random_valid(keys.size(), nulls, keys.size()), 3);
    device_ = place(queue, column);
    view.width = device_.width;
    view.data = device_.data;
    view.validity = device_.validity;
    view.validity_bit_offset = device_.validity_bit_offset;
    view.memory = base::Memory::kDevice;
  }
  columns::ColumnView view;
  int64_t rows;

 private:
  columns::DeviceColumn device_;
};

std::vector<uint64_t> unique_keys(size_t rows, uint64_t stride) {
  std::vector<uint64_t> keys(rows);
  for (size_t row = 0; row < rows; ++row) keys[row] = stride * (row * 1234577 % rows);
  return keys;
}

TEST_F(SeeRepeats, OfTheSideThatHasThem) {
  for (int32_t const width : {4, 8}) {
    for (double const nulls : {0.0, 0.4}) {
      SCOPED_TRACE(std::to_string(width) + " bytes, NULL " + std::to_string(nulls));
      Side const drawn(queue(), random_keys(kRows, kKeys, 1, 71), width, nulls);
      Side const unique(queue(), unique_keys(kRows, 1), width, nulls);
      Side const far(queue(), unique_keys(kRows, 0x9e3779b1), width, nulls);
      auto const see = [&](const Side& build, const Side& probe) {
        return sample::see_repeats(queue(), build.view, build.rows, probe.view, probe.rows);
      };
      for (int turn = 0; turn < 3; ++turn) {
        plan::SeenRepeats const seen = see(drawn, unique);
        EXPECT_GT(seen.build, 0U);
        EXPECT_LT(seen.build, 60U);  // 2^25 pairs of 2.7 * 10^6 keys
        EXPECT_EQ(seen.probe, 0U);
        EXPECT_TRUE(plan::repeats_less(seen));
        plan::SeenRepeats const turned = see(far, drawn);
        EXPECT_EQ(turned.build, 0U);
        EXPECT_GT(turned.probe, 0U);
        EXPECT_FALSE(plan::repeats_less(turned));
      }
      plan::SeenRepeats const none = see(far, unique);
      EXPECT_EQ(none.build + none.probe, 0U);
    }
  }
}

// From the lowest signed key to the highest; of NULLs nobody knows, and one row that is elsewhere
// may be missed.
TEST_F(SeeRepeats, AndWhetherBothSidesLieInOrder) {
  auto const in_order = [](size_t rows, uint64_t rows_of_key) {
    std::vector<uint64_t> keys(rows);
    for (size_t row = 0; row < rows; ++row) keys[row] = row / rows_of_key - rows / 2;
    return keys;
  };
  std::vector<uint64_t> halves = in_order(kRows, 1);
  std::rotate(halves.begin(), halves.begin() + kRows / 2, halves.end());
  for (int32_t const width : {4, 8}) {
    Side const unique(queue(), in_order(kRows, 1), width, 0);
    Side const repeated(queue(), in_order(kRows / 2, 5), width, 0);
    Side const nullable(queue(), in_order(kRows, 1), width, 0.01);
    Side const turned(queue(), halves, width, 0);
    auto const are_in_order = [&](const Side& build, const Side& probe) {
      return sample::see_repeats(queue(), build.view, build.rows, probe.view, probe.rows).in_order;
    };
    EXPECT_TRUE(are_in_order(unique, repeated));
    EXPECT_TRUE(are_in_order(repeated, unique));
    EXPECT_FALSE(are_in_order(unique, nullable));
    EXPECT_FALSE(are_in_order(turned, unique));
    EXPECT_FALSE(are_in_order(unique, turned));
    EXPECT_TRUE(are_in_order(unique, unique));
  }
}

TEST_F(SeeRepeats, OfFewRowsAndOfOneKey) {
  Side const one(queue(), std::vector<uint64_t>(5000, 7), 4, 0);
  Side const few(queue(), unique_keys(kernels::kSeeThreads, 1), 4, 0);
  auto const seen = sample::see_repeats(queue(), one.view, one.rows, few.view, few.rows);
  EXPECT_EQ(seen.build, kernels::kSeeBlocks * (kernels::kSeeThreads - 1));
  EXPECT_EQ(seen.probe, 0U);
}

}  // namespace
}  // namespace gpujoin::tests
