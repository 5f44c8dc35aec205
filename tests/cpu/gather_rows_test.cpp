// gather_rows_test.cpp: columns by row number on the CPU, at the edges of words and tasks.
#include "src/cpu/gather_rows.hpp"

#include <gtest/gtest.h>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::test {
namespace {

columns::ColumnView view_of(const TestColumn& column) {
  columns::ColumnView view;
  view.type = GPUJOIN_TYPE_INT32;
  view.width = column.width;
  view.data = column.words.data();
  view.validity = column.validity.empty() ? nullptr : column.validity.data();
  view.validity_bit_offset = column.bit_offset;
  view.name = "column";
  view.arrow_format = "i";
  return view;
}

class GatherRows : public ::testing::Test {
 protected:
  void SetUp() override {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    options.cpu_threads = 2;
    queue_ = OwnQueue(options);
  }
  columns::ResultColumn gather(const TestColumn& column, const std::vector<uint32_t>& rows) {
    cpu::Workers workers(*queue_);
    return cpu::gather_rows(*queue_, workers, "fetch", view_of(column), rows.data(), rows.size());
  }
  OwnQueue queue_;
};

std::vector<uint32_t> drawn(size_t count, size_t source_rows) {
  std::mt19937 random(7);
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(static_cast<uint32_t>(random() % source_rows));
  return rows;
}

TEST_F(GatherRows, TakesEachWidthWithItsNulls) {
  constexpr size_t kSourceRows = 1000;
  for (int32_t const width : {1, 2, 4, 8, 16}) {
    for (bool const nullable : {false, true}) {
      TestColumn column = TestColumn::of_random(width, kSourceRows, 3);
      if (nullable) column.with_nulls(kSourceRows, 3, 13, 5);
      for (size_t const count : {0, 1, 31, 63, 64, 65, 65535, 65536, 65537, 200000}) {
        SCOPED_TRACE(testing::Message() << width << " bytes, " << nullable << ", " << count);
        std::vector<uint32_t> const rows = drawn(count, kSourceRows);
        columns::ResultColumn const found = gather(column, rows);
        EXPECT_EQ(found.name, "column");
        EXPECT_EQ(found.width, width);
        auto const* values = static_cast<const char*>(found.data.get());
        auto const* bits = static_cast<const uint8_t*>(found.validity.get());
        int64_t nulls = 0;
        for (size_t i = 0; i < count; ++i) {
          bool const valid = bits == nullptr || (bits[i / 8] >> (i % 8) & 1) != 0;
          ASSERT_EQ(valid, !column.is_null(rows[i])) << i;
          nulls += valid ? 0 : 1;
          if (!valid) continue;
          auto const bytes = static_cast<size_t>(width);
          ASSERT_EQ(std::string(values + i * bytes, bytes), column.value(rows[i])) << i;
        }
        EXPECT_EQ(found.null_count, nulls);
        EXPECT_EQ(bits == nullptr, nulls == 0);
      }
    }
  }
}

TEST_F(GatherRows, StopsWhenAskedTo) {
  TestColumn const column = TestColumn::of_random(4, 100, 1);
  uint64_t const before = queue_->host_pool->in_use_bytes();
  queue_->context.cancels.fetch_add(1);
  try {
    gather(column, drawn(200000, 100));
    FAIL() << "went on";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
  }
  EXPECT_EQ(queue_->host_pool->in_use_bytes(), before);
}

TEST_F(GatherRows, KeepsTheMemoryLimit) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.memory_limit_bytes = 1 << 16;
  queue_ = OwnQueue(options);
  TestColumn const column = TestColumn::of_random(8, 100, 1);
  try {
    gather(column, drawn(100000, 100));
    FAIL() << "took more than it may";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
  }
}

}  // namespace
}  // namespace gpujoin::test
