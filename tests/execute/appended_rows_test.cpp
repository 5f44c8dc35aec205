// appended_rows_test.cpp: columns made of parts, on the CPU and, where there is one, on a GPU.
#include "src/execute/appended_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using base::Memory;
using columns::ResultColumn;

using execute::ColumnPart;

class AppendedRows : public testing::TestWithParam<Memory> {
 protected:
  void SetUp() override {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GetParam() == Memory::kDevice ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU;
    try {
      queue_ = OwnQueue(options);
    } catch (const base::Error& error) {
      if (GetParam() != Memory::kDevice) throw;
      GTEST_SKIP() << error.what();
    }
  }

  columns::Storage storage_of(const void* bytes, uint64_t count, uint64_t room) {
    base::Queue& queue = queue_;
    base::Pool& pool = GetParam() == Memory::kDevice ? *queue.device_pool : *queue.host_pool;
    base::Buffer buffer = pool.allocate(GetParam(), room, "a test's column");
    base::copy(queue, buffer.data(), GetParam(), bytes, Memory::kHost, count);
    base::finish(queue);
    return columns::make_storage(std::move(buffer));
  }

  ResultColumn column_of(const std::vector<uint32_t>& values, const std::vector<bool>& valid,
                         uint64_t room) {
    ResultColumn column;
    column.width = sizeof(uint32_t);
    column.data = storage_of(values.data(), values.size() * 4, std::max<uint64_t>(room, 1) * 4);
    column.room = room;
    if (!valid.empty()) {
      // Bits beyond the rows are set, which must not show.
      std::vector<uint32_t> words((values.size() + 31) / 32, ~0U);
      for (size_t i = 0; i < valid.size(); ++i) {
        if (valid[i]) continue;
        words[i / 32] &= ~(1U << (i % 32));
        ++column.null_count;
      }
      column.validity = storage_of(words.data(), words.size() * 4, words.size() * 4);
    }
    return column;
  }

  std::vector<uint32_t> read(const columns::Storage& storage, size_t count) {
    std::vector<uint32_t> words(count);
    base::Queue& queue = queue_;
    base::copy(queue, words.data(), Memory::kHost, storage.get(), GetParam(), count * 4);
    base::finish(queue);
    return words;
  }

  OwnQueue queue_;
};
INSTANTIATE_TEST_SUITE_P(In, AppendedRows, testing::Values(Memory::kHost, Memory::kDevice),
                         [](const testing::TestParamInfo<Memory>& tested) {
                           return std::string(tested.param == Memory::kDevice ? "Device" : "Host");
                         });

TEST_P(AppendedRows, ShareWhichOfThemHaveAValue) {
  ResultColumn const matched = column_of({1, 2, 3}, {}, 3);
  ResultColumn const nullable = column_of({1, 2, 3}, {true, false, true}, 3);
  std::vector<ColumnPart> const parts = {{3, &matched}, {40, nullptr}};
  std::vector<ColumnPart> const with_null = {{3, &nullable}, {40, nullptr}};
  columns::Storage present;
  ResultColumn const first = execute::append_rows(queue_, GetParam(), matched, parts, 0, &present);
  EXPECT_EQ(present, first.validity);
  EXPECT_EQ(read(present, 2), (std::vector<uint32_t>{7, 0}));
  EXPECT_EQ(execute::append_rows(queue_, GetParam(), matched, parts, 0, &present).validity,
            present);
  ResultColumn const own =
      execute::append_rows(queue_, GetParam(), nullable, with_null, 0, &present);
  EXPECT_NE(own.validity, present);
  EXPECT_EQ(read(own.validity, 2), (std::vector<uint32_t>{5, 0}));
}

TEST_P(AppendedRows, ComeOneAfterTheOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<ResultColumn> columns(3);
    std::vector<ColumnPart> parts;
    std::vector<uint32_t> expected;
    std::vector<bool> expected_valid;
    bool const has_room = random() % 2 == 0;
    for (size_t part = 0; part < 3; ++part) {
      size_t const rows = random() % (random() % 4 == 0 ? 2000 : 70);
      bool const is_missing = part > 0 && random() % 3 == 0;
      bool const has_nulls = random() % 2 == 0;
      std::vector<uint32_t> values(rows);
      std::vector<bool> valid(has_nulls ? rows : 0);
      for (size_t i = 0; i < rows; ++i) {
        values[i] = is_missing ? 0xabababab : static_cast<uint32_t>(random());
        if (has_nulls) valid[i] = random() % 3 != 0;
        expected.push_back(values[i]);
        expected_valid.push_back(!is_missing && (!has_nulls || valid[i]));
      }
      columns[part] = column_of(values, valid, part == 0 && has_room ? 10000 : rows);
      parts.push_back({static_cast<int64_t>(rows), is_missing ? nullptr : &columns[part]});
    }
    ResultColumn const made = execute::append_rows(queue_, GetParam(), columns[0], parts, 0xab);
    if (expected.empty()) continue;
    ASSERT_EQ(read(made.data, expected.size()), expected);
    int64_t nulls = 0;
    for (bool const valid : expected_valid) nulls += valid ? 0 : 1;
    ASSERT_EQ(made.null_count, nulls);
    if (nulls == 0) continue;
    std::vector<uint32_t> const words = read(made.validity, (expected.size() + 31) / 32);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((words[i / 32] >> (i % 32) & 1) != 0, expected_valid[i]) << i;
    }
  }
}

TEST_P(AppendedRows, StayWhereTheyAreWhenThereIsRoomAndNobodyElseHasThem) {
  std::vector<uint32_t> values(100);
  std::iota(values.begin(), values.end(), 0U);
  ResultColumn first = column_of(values, {}, 300);
  ResultColumn const second = column_of(values, {}, 100);
  std::vector<ColumnPart> const parts = {{100, &first}, {100, &second}, {100, nullptr}};
  void const* const before = first.data.get();
  {
    columns::Storage const shared = first.data;
    ResultColumn const elsewhere = execute::append_rows(queue_, GetParam(), first, parts);
    EXPECT_NE(elsewhere.data.get(), before);
  }
  ResultColumn const made = execute::append_rows(queue_, GetParam(), first, parts);
  EXPECT_EQ(made.data.get(), before);
  std::vector<uint32_t> expected = values;
  expected.insert(expected.end(), values.begin(), values.end());
  expected.resize(300, 0);
  EXPECT_EQ(read(made.data, 300), expected);
}

}  // namespace
}  // namespace gpujoin::tests
