// The CPU executor against a reference join: sizes, types, NULLs, multiplicities, every plan.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cpu/expected_join.hpp"

namespace gpujoin::test {
namespace {

// radix_bits: 0: of no number that is named, and so of small sides no partitions, and of 3.
void expect_right_by_every_plan(const TestTable& left, const TestTable& right,
                                int32_t radix_bits = 0) {
  for (auto const gather : {plan::Gather::kTransformed, plan::Gather::kUntransformed}) {
    for (auto const side : {plan::Side::kLeft, plan::Side::kRight}) {
      expect_right(left, right, cpu_plan(gather, side, radix_bits));
      if (radix_bits == 0) expect_right(left, right, cpu_plan(gather, side, 3));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CpuJoin, IsRightAtEverySmallSizeAndAroundItsTiles) {
  for (size_t const left_rows : {0, 1, 31, 32, 33, 1000}) {
    for (size_t const right_rows : {0, 1, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 5000}) {
      SCOPED_TRACE(testing::Message() << left_rows << " x " << right_rows);
      TestTable const left = table_of(4, random_keys(left_rows, 700, 1), {4}, 10);
      TestTable const right = table_of(4, random_keys(right_rows, 700, 2), {4}, 20);
      expect_right_by_every_plan(left, right);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuJoin, IsRightForEveryNumberOfPartitions) {
  TestTable const left = table_of(4, random_keys(3000, 4000, 3), {4}, 30);
  TestTable const right = table_of(4, random_keys(9000, 4000, 4), {4}, 40);
  for (int32_t bits = 1; bits <= 14; ++bits) {
    expect_right(left, right, cpu_plan(plan::Gather::kTransformed, plan::Side::kLeft, bits));
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, CarriesEveryPayloadWidthAlone) {
  for (int32_t const key_width : {4, 8}) {
    for (int32_t const width : {1, 2, 4, 8, 16}) {
      SCOPED_TRACE(testing::Message() << "key " << key_width << " payload " << width);
      TestTable const left = table_of(key_width, random_keys(1500, 2000, 5), {width}, 50);
      TestTable const right = table_of(key_width, random_keys(3000, 2000, 6), {width}, 60);
      expect_right_by_every_plan(left, right);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuJoin, CarriesRowsOfEverySizeUpToSeveralCacheLines) {
  std::vector<int32_t> widths;
  for (int32_t const width : {1, 2, 4, 8, 16, 16, 16, 1, 16, 16, 4, 16, 16}) {
    widths.push_back(width);
    TestTable const left = table_of(4, random_keys(700, 900, 7), widths, 70);
    TestTable const right = table_of(4, random_keys(1400, 900, 8), {8, 2}, 80);
    expect_right_by_every_plan(left, right, 3);
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, DropsNullKeysAndKeepsNullPayloads) {
  for (int32_t const key_width : {4, 8}) {
    for (int64_t const offset : {0, 1, 7, 8, 13}) {
      SCOPED_TRACE(testing::Message() << "key " << key_width << " offset " << offset);
      TestTable left = table_of(key_width, random_keys(2000, 1500, 9), {4, 1, 16, 2}, 90);
      TestTable right = table_of(key_width, random_keys(4100, 1500, 10), {8, 4}, 95);
      left.columns[0].with_nulls(left.rows, 5, offset, 1);
      left.columns[1].with_nulls(left.rows, 3, offset + 2, 2);
      left.columns[3].with_nulls(left.rows, 2, offset + 5, 3);
      right.columns[0].with_nulls(right.rows, 7, offset + 1, 4);
      right.columns[2].with_nulls(right.rows, 4, offset, 5);
      expect_right_by_every_plan(left, right);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuJoin, MoreNullableColumnsThanAByteHasBits) {
  TestTable left = table_of(4, random_keys(900, 600, 9), std::vector<int32_t>(11, 1), 90);
  TestTable const right = table_of(4, random_keys(1800, 600, 10), {4}, 95);
  for (size_t i = 1; i < left.columns.size(); ++i) {
    left.columns[i].with_nulls(left.rows, i + 1, static_cast<int64_t>(i), i);
  }
  expect_right_by_every_plan(left, right);
}

// Narrow columns, and bits of NULLs, share words of the rows that travel.
TEST(CpuJoin, ManyNarrowPayloads) {
  for (int32_t const key_width : {4, 8}) {
    TestTable left = table_of(key_width, random_keys(9000, 6000, 52), {1, 2, 1, 4, 1, 1, 2, 1}, 53);
    TestTable right = table_of(key_width, random_keys(12000, 6000, 54), {2, 1, 16, 1, 8, 1, 4}, 55);
    for (size_t i = 1; i < left.columns.size(); i += 2) {
      left.columns[i].with_nulls(left.rows, i + 2, static_cast<int64_t>(i), i);
    }
    for (size_t i = 2; i < right.columns.size(); i += 3) {
      right.columns[i].with_nulls(right.rows, i + 3, static_cast<int64_t>(i), i);
    }
    expect_right_by_every_plan(left, right);
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, NullablePayloadWithoutAnyNullHasNoValidity) {
  TestTable left = table_of(4, random_keys(900, 600, 9), {4}, 90);
  TestTable const right = table_of(4, random_keys(1800, 600, 10), {4}, 95);
  left.columns[1].with_nulls(left.rows, UINT64_MAX, 3, 1);
  expect_right_by_every_plan(left, right);
}

TEST(CpuJoin, AllKeysNull) {
  TestTable left = table_of(4, random_keys(2000, 10, 9), {4}, 90);
  TestTable const right = table_of(4, random_keys(2000, 10, 10), {4}, 95);
  left.columns[0].with_nulls(left.rows, 1, 3, 1);
  expect_right_by_every_plan(left, right);
}

TEST(CpuJoin, AllKeysEqual) {
  for (int32_t const key_width : {4, 8}) {
    TestTable const left = table_of(key_width, Keys(300, 0), {4}, 11);
    TestTable const right = table_of(key_width, Keys(150, 0), {8}, 12);
    expect_right_by_every_plan(left, right);
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, NoKeyMatches) {
  Keys left_keys(5000);
  Keys right_keys(5000);
  std::iota(left_keys.begin(), left_keys.end(), 0);
  std::iota(right_keys.begin(), right_keys.end(), 5000);
  expect_right_by_every_plan(table_of(4, left_keys, {4}, 13), table_of(4, right_keys, {4}, 14));
}

TEST(CpuJoin, ExtremeKeysAreKeysLikeOthers) {
  Keys const keys = {0, UINT32_MAX, 1, UINT32_MAX - 1, uint64_t{1} << 31, 0, UINT32_MAX};
  expect_right_by_every_plan(table_of(4, keys, {4}, 15), table_of(4, keys, {4}, 16));
  Keys const wide = {0, UINT64_MAX, 1, UINT64_MAX - 1, uint64_t{1} << 63, 0, UINT32_MAX};
  expect_right_by_every_plan(table_of(8, wide, {4}, 15), table_of(8, wide, {4}, 16));
}

TEST(CpuJoin, EightByteKeysThatDifferInTheirHighBitsOnly) {
  Keys left_keys(4096);
  for (size_t i = 0; i < left_keys.size(); ++i) left_keys[i] = uint64_t{i} << 52 | 77;
  Keys const right_keys = left_keys;
  expect_right_by_every_plan(table_of(8, left_keys, {4}, 17), table_of(8, right_keys, {2}, 18));
}

TEST(CpuJoin, StridedKeys) {
  for (uint64_t const stride : {2, 3, 64, 1000, 4096, 46368, 65536, 65537, 832040}) {
    SCOPED_TRACE(stride);
    Keys keys(3000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * stride;
    expect_right(table_of(4, keys, {4}, 19), table_of(4, keys, {4}, 20), cpu_plan());
    expect_right(table_of(8, keys, {4}, 19), table_of(8, keys, {4}, 20), cpu_plan());
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, KeysMadeToCollide) {
  // Preimages of hashes 0, 1, 2 ...: one partition, one bucket, all keys different.
  Keys keys(3000);
  for (size_t i = 0; i < keys.size(); ++i) {
    auto const word = static_cast<uint32_t>(i) * 0x4b02fe99U;  // the inverse of 0x9E3A75A9
    keys[i] = word ^ word >> 16;
  }
  Keys probe = keys;
  probe.insert(probe.end(), keys.begin(), keys.begin() + 1000);
  expect_right_by_every_plan(table_of(4, keys, {4}, 21), table_of(4, probe, {4}, 22), 4);
}

TEST(CpuJoin, OneHeavyKeyOnEitherSideAmongOthers) {
  Keys heavy = random_keys(4000, 3000, 23);
  for (size_t i = 0; i < 2500; ++i) heavy[i * 8 / 5 % heavy.size()] = 7;
  Keys light(200);
  std::iota(light.begin(), light.end(), 0);
  expect_right_by_every_plan(table_of(4, heavy, {4}, 24), table_of(4, light, {4}, 25));
  expect_right_by_every_plan(table_of(4, light, {4}, 26), table_of(4, heavy, {4}, 27));
}

TEST(CpuJoin, ManyMoreMatchesThanExpected) {
  // 15 matches for each probe row: several slabs, put together at the end.
  TestTable left = table_of(4, random_keys(1500, 100, 28), {4, 2}, 28);
  TestTable right = table_of(4, random_keys(4500, 100, 29), {8}, 29);
  left.columns[2].with_nulls(left.rows, 3, 1, 4);
  auto const queue = cpu_queue();
  columns::JoinResult result;
  execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, true), result);
  EXPECT_GE(result.statistics.output_resumes, 1);
  expect_right(left, right, cpu_plan());
}

TEST(CpuJoin, RepeatedOutputColumns) {
  TestTable const left = table_of(4, random_keys(500, 400, 30), {4}, 30);
  TestTable const right = table_of(4, random_keys(600, 400, 31), {4}, 31);
  auto const queue = cpu_queue();
  for (auto const gather : {plan::Gather::kTransformed, plan::Gather::kUntransformed}) {
    auto join = planned(queue, left, right, cpu_plan(gather), false, true);
    join.spec.left_columns = {1, 0, 1};
    join.spec.right_columns = {};
    columns::JoinResult result;
    execute::on_cpu(queue, join, result);
    ASSERT_EQ(result.columns.size(), 3U);
    ASSERT_EQ(result.rows, static_cast<int64_t>(reference_pairs(left, right).size()));
    auto const* first = static_cast<const uint32_t*>(result.columns[0].data.get());
    auto const* third = static_cast<const uint32_t*>(result.columns[2].data.get());
    EXPECT_TRUE(std::equal(first, first + result.rows, third));
  }
}

TEST(CpuJoin, OneThreadAndManyAgree) {
  TestTable const left = table_of(4, random_keys(5000, 7000, 32), {4}, 32);
  TestTable const right = table_of(4, random_keys(15000, 7000, 33), {4}, 33);
  for (int32_t const threads : {1, 2, 3, 8}) {
    expect_right(left, right, cpu_plan(), threads);
    if (HasFatalFailure()) return;
  }
}

TEST(CpuJoin, SaysWhatItDid) {
  TestTable const left = table_of(4, random_keys(500, 400, 30), {4}, 30);
  TestTable const right = table_of(4, random_keys(600, 400, 31), {4}, 31);
  columns::JoinResult result;
  auto const queue = cpu_queue();
  execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), false, true), result);
  ASSERT_EQ(result.statistics.stages.size(), 3U);
  EXPECT_EQ(result.statistics.stages[0].stage, "transform");
  EXPECT_EQ(result.statistics.stages[1].stage, "match");
  EXPECT_EQ(result.statistics.stages[2].stage, "materialize");
  EXPECT_EQ(result.memory, base::Memory::kHost);
  EXPECT_EQ(result.columns[0].name, "c0");
}

}  // namespace
}  // namespace gpujoin::test
