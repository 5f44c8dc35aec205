// sample_test.cpp: sampled in parallel, keys say what they say to the planner's reference.
#include "src/cpu/sample.hpp"

#include <gtest/gtest.h>

#include "tests/cpu/join_tables.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::test {
namespace {

std::vector<uint64_t> drawn(size_t rows, uint64_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = random() % distinct - distinct / 3;
  return keys;
}

columns::Relation relation_of(base::Queue& queue, const TestColumn& column, size_t rows) {
  columns::ColumnView view;
  view.type = column.width == 4 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
  view.width = column.width;
  view.data = column.words.data();
  view.validity = column.validity.empty() ? nullptr : column.validity.data();
  view.validity_bit_offset = column.bit_offset;
  columns::Relation relation;
  relation.context = queue.context.shared_from_this();
  relation.rows = static_cast<int64_t>(rows);
  relation.columns.push_back(view);
  return relation;
}

auto reader_of(const columns::Relation& relation) {
  return [&relation](int64_t row, uint64_t* key) {
    const columns::ColumnView& column = relation.columns.front();
    int64_t const bit = column.validity_bit_offset + row;
    if (column.validity != nullptr && (column.validity[bit / 8] >> (bit % 8) & 1) == 0)
      return false;
    *key = 0;
    std::memcpy(key, static_cast<const char*>(column.data) + row * column.width,
                static_cast<size_t>(column.width));
    return true;
  };
}

plan::SampleFindings expect_as_the_reference(base::Queue& queue, const columns::Relation& build,
                                             const columns::Relation& probe, int32_t width) {
  plan::SampleFindings const expected =
      plan::sample_keys(build.rows, reader_of(build), probe.rows, reader_of(probe), width,
                        plan::SampleEffort::kCounted, plan::kFewestSampleTilesOfCpu);
  EXPECT_EQ(cpu::sample_keys(queue, build, 0, probe, 0), expected);
  return expected;
}

TEST(CpuSample, EqualsTheReference) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = 3;
  auto const queue = OwnQueue(options);
  // The largest is scanned in part.
  constexpr size_t kLarge = 9 * plan::kFewestSampleTilesOfCpu * plan::kSampleTileRows + 999'999;
  for (int32_t const width : {4, 8}) {
    for (size_t const rows : {size_t{0}, size_t{1}, size_t{100'001}, kLarge}) {
      for (bool const nullable : {false, true}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << width << " bytes, " << nullable);
        constexpr size_t kProbeRows = 50'000;
        TestColumn build_key = TestColumn::of_keys(width, drawn(rows, rows / 4 + 1, 1));
        TestColumn probe_key = TestColumn::of_keys(width, drawn(kProbeRows, rows / 2 + 1, 2));
        if (nullable) {
          build_key.with_nulls(rows, 3, 13, 5);
          probe_key.with_nulls(kProbeRows, 5, 11, 6);
        }
        plan::SampleFindings const found =
            expect_as_the_reference(queue, relation_of(queue, build_key, rows),
                                    relation_of(queue, probe_key, kProbeRows), width);
        EXPECT_EQ(found.scanned_rows == static_cast<int64_t>(rows), rows != kLarge);
      }
    }
  }
}

TEST(CpuSample, CountsHotKeysAsTheReference) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = 3;
  auto const queue = OwnQueue(options);
  constexpr size_t kBuildRows = 400'000;
  constexpr size_t kProbeRows = 700'000;
  for (int32_t const width : {4, 8}) {
    std::vector<uint64_t> build_keys = drawn(kBuildRows, kBuildRows, 1);
    std::vector<uint64_t> probe_keys = drawn(kProbeRows, 2 * kBuildRows, 2);
    for (size_t i = 0; i < kBuildRows; i += 4) build_keys[i] = i % 8;
    for (size_t i = 0; i < 77; ++i) probe_keys[i * 9001] = i % 5;
    TestColumn build_key = TestColumn::of_keys(width, build_keys);
    TestColumn probe_key = TestColumn::of_keys(width, probe_keys);
    probe_key.with_nulls(kProbeRows, 5, 11, 6);
    plan::SampleFindings const found =
        expect_as_the_reference(queue, relation_of(queue, build_key, kBuildRows),
                                relation_of(queue, probe_key, kProbeRows), width);
    EXPECT_EQ(found.hot.keys, 2);
    EXPECT_GT(found.hot.rows, 10);
    EXPECT_LT(found.hot.rows, 45);
  }
}

}  // namespace
}  // namespace gpujoin::test
