// estimate_test.cpp: gpujoin_estimate_join: what it answers, and what it refuses.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

// A key of 4 bytes and text on either side, which the arguments point to.
class EstimateTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context = make_context(options());
    for (gpujoin_expected_column& column : columns) column = GPUJOIN_EXPECTED_COLUMN_INIT;
    columns[0].type = GPUJOIN_TYPE_INT32;
    columns[1].type = GPUJOIN_TYPE_UTF8;
    columns[1].value_bytes = 20;
    for (gpujoin_expected_side* side : {&left, &right}) {
      side->rows = 1000000;
      side->columns = columns;
      side->column_count = 2;
      side->keys = &key;
      side->output_columns = outputs;
      side->output_column_count = 2;
    }
    join.kind = GPUJOIN_JOIN_INNER;
    join.left = &left;
    join.right = &right;
    join.key_count = 1;
  }
  Answer ask() { return call(gpujoin_estimate_join, context.get(), &join, &estimate); }

  Context context;
  gpujoin_expected_column columns[2];
  int32_t key = 0;
  int32_t outputs[2] = {0, 1};
  gpujoin_expected_side left = GPUJOIN_EXPECTED_SIDE_INIT;
  gpujoin_expected_side right = GPUJOIN_EXPECTED_SIDE_INIT;
  gpujoin_expected_join join = GPUJOIN_EXPECTED_JOIN_INIT;
  gpujoin_estimate estimate = GPUJOIN_ESTIMATE_INIT;
};
ON_EVERY_DEVICE(EstimateTest);

}  // namespace

TEST_P(EstimateTest, TellsBothExecutors) {
  ASSERT_OK(ask());
  EXPECT_EQ(estimate.output_rows, 1000000);
  EXPECT_EQ(estimate.output_bytes, 2u * (1000000 * (4 + 20) + 1000001 * 4));
  EXPECT_GT(estimate.cpu_milliseconds, 0);
  EXPECT_GT(estimate.cpu_memory_bytes, estimate.output_bytes / 2);
  EXPECT_NE(std::strstr(estimate.cpu_plan, "cpu "), nullptr) << estimate.cpu_plan;
  bool const has_cuda = device() == GPUJOIN_DEVICE_CUDA;
  EXPECT_EQ(estimate.cuda_milliseconds > 0, has_cuda);
  EXPECT_EQ(estimate.cuda_fetch_milliseconds > 0, has_cuda);
  EXPECT_EQ(estimate.cuda_plan[0] != '\0', has_cuda);
  EXPECT_EQ(estimate.struct_size, sizeof(gpujoin_estimate));
}

TEST_P(EstimateTest, EveryKindAndOrderHasOne) {
  join.key_count = 1;
  outputs[0] = outputs[1] = 1;
  for (int32_t kind = GPUJOIN_JOIN_INNER; kind <= GPUJOIN_JOIN_CROSS; ++kind) {
    for (int32_t order = 0; order <= GPUJOIN_ORDER_RIGHT; ++order) {
      bool const is_alone = kind >= GPUJOIN_JOIN_LEFT_SEMI && kind <= GPUJOIN_JOIN_RIGHT_NOT_IN;
      join.kind = kind;
      join.order = order;
      join.key_count = kind == GPUJOIN_JOIN_CROSS ? 0 : 1;
      left.output_column_count = is_alone && kind % 2 == 0 ? 0 : 2;
      right.output_column_count = is_alone && kind % 2 == 1 ? 0 : 2;
      EXPECT_OK(ask()) << kind;
      EXPECT_TRUE(std::isfinite(estimate.cpu_milliseconds));
    }
  }
}

TEST_P(EstimateTest, NothingIsRead) {
  left.rows = right.rows = int64_t{UINT32_MAX} - 1;
  join.has_pairs = 1;
  join.pairs = int64_t{1} << 40;
  ASSERT_OK(ask());
  EXPECT_EQ(estimate.output_rows, int64_t{1} << 40);
  join.pairs = 0;
  ASSERT_OK(ask());
  EXPECT_EQ(estimate.output_rows, 0);
  left.rows = 0;
  ASSERT_OK(ask());
  EXPECT_EQ(estimate.output_bytes, 0u);
  join.kind = GPUJOIN_JOIN_CROSS;
  join.key_count = 0;
  left.rows = right.rows;
  ASSERT_OK(ask());
}

TEST_P(EstimateTest, RefusesByName) {
  auto const with = [&](auto change, int32_t status, const char* name) {
    gpujoin_expected_side const kept_left = left;
    gpujoin_expected_join const kept_join = join;
    gpujoin_expected_column const kept[] = {columns[0], columns[1]};
    gpujoin_estimate const before = estimate;
    change();
    EXPECT_NAMES(ask(), status, name);
    EXPECT_EQ(std::memcmp(&before, &estimate, sizeof(before)), 0);
    left = kept_left;
    join = kept_join;
    columns[0] = kept[0];
    columns[1] = kept[1];
  };
  with([&] { join.kind = 0; }, kInvalid, "join.kind");
  with([&] { join.kind = 99; }, GPUJOIN_ERROR_UNSUPPORTED, "join.kind");
  with([&] { join.key_count = 0; }, kInvalid, "join.key_count");
  with([&] { join.output = 8; }, kInvalid, "join.output");
  with([&] { join.order = -1; }, kInvalid, "join.order");
  with([&] { join.has_pairs = 2; }, kInvalid, "join.has_pairs");
  with([&] { join.has_pairs = 1, join.pairs = -1; }, kInvalid, "join.pairs");
  with([&] { join.left = nullptr; }, kInvalid, "join.left");
  with([&] { join.struct_size = 8; }, GPUJOIN_ERROR_ABI_MISMATCH, "join");
  with([&] { left.struct_size = 12; }, GPUJOIN_ERROR_ABI_MISMATCH, "join.left");
  with([&] { left.rows = -1; }, kInvalid, "join.left.rows");
  with([&] { left.rows = UINT32_MAX; }, GPUJOIN_ERROR_TOO_MANY_ROWS, "join.left.rows");
  with([&] { left.columns = nullptr; }, kInvalid, "join.left.columns");
  with([&] { left.column_count = -1; }, kInvalid, "join.left.column_count");
  with([&] { left.column_count = 1; }, kInvalid, "join.left.output_columns[1]");
  with([&] { left.keys = nullptr; }, kInvalid, "join.left.keys");
  with([&] { left.keys = &outputs[1]; }, GPUJOIN_ERROR_TYPE, "join.left.keys");
  with([&] { left.output_column_count = -1; }, kInvalid, "join.left.output_column_count");
  with([&] { left.distinct_keys = 1000001; }, kInvalid, "join.left.distinct_keys");
  with([&] { left.has_matched_rows = 1, left.matched_rows = -1; }, kInvalid,
       "join.left.matched_rows");
  with([&] { left.has_matched_rows = 3; }, kInvalid, "join.left.has_matched_rows");
  with([&] { left.reserved = 1; }, kInvalid, "join.left.reserved");
  with([&] { left.memory = 9; }, kInvalid, "join.left.memory");
  with([&] { columns[1].type = 0; }, GPUJOIN_ERROR_TYPE, "columns[1].type");
  with([&] { columns[1].type = 99; }, GPUJOIN_ERROR_TYPE, "columns[1].type");
  with([&] { columns[1].type = GPUJOIN_TYPE_RUN_END_ENCODED; }, GPUJOIN_ERROR_TYPE, "type");
  with([&] { columns[1].type = GPUJOIN_TYPE_FIXED_BINARY; }, kInvalid, "value_width");
  with([&] { columns[0].is_nullable = 2; }, kInvalid, "columns[0].is_nullable");
  for (double const bytes : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), 1e300}) {
    with([&] { columns[1].value_bytes = bytes; }, kInvalid, "columns[1].value_bytes");
  }
  if (device() == GPUJOIN_DEVICE_CPU) {
    with([&] { left.memory = GPUJOIN_MEMORY_DEVICE; }, GPUJOIN_ERROR_UNSUPPORTED, "memory");
  }
  EXPECT_NAMES(
      call(gpujoin_estimate_join, context.get(), &join, static_cast<gpujoin_estimate*>(nullptr)),
      kInvalid, "estimate");
  EXPECT_OK(ask());
}

TEST_P(EstimateTest, GarbageEndsNothing) {
  std::mt19937 random(11);
  constexpr int64_t kNumbers[] = {0, 1, -1, 2, 37, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  auto const number = [&] { return kNumbers[random() % std::size(kNumbers)]; };
  for (int i = 0; i < 3000; ++i) {
    gpujoin_expected_side const kept = left;
    join.kind = random() % 4 == 0 ? static_cast<int32_t>(number())
                                  : static_cast<int32_t>(1 + random() % 15);
    join.key_count = random() % 3 == 0 ? static_cast<int32_t>(number()) : 1;
    join.pairs = number();
    join.has_pairs = static_cast<int32_t>(random() % 2);
    left.rows = random() % 2 == 0 ? number() : 1000;
    left.distinct_keys = random() % 2 == 0 ? number() : 0;
    columns[random() % 2].type = static_cast<int32_t>(random() % 42);
    columns[random() % 2].value_width = static_cast<int32_t>(number());
    outputs[random() % 2] = static_cast<int32_t>(random() % 3);
    ask();
    left = kept;
  }
}
