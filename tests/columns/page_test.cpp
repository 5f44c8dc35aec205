#include "src/columns/page.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "src/base/status.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::columns {
namespace {

gpujoin_page page_from(int64_t first_row, int64_t max_rows, uint64_t max_bytes) {
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = first_row;
  page.max_rows = max_rows;
  page.max_bytes = max_bytes;
  return page;
}

TEST(Page, CountsBitmapsInTheirOwnUnits) {
  PageBytes const bytes{10, 2, 1};
  EXPECT_EQ(bytes.of({0, 0}), 0u);
  EXPECT_EQ(bytes.of({0, 1}), 10u + 2 + 4);
  EXPECT_EQ(bytes.of({0, 9}), 90u + 4 + 4);
  EXPECT_EQ(bytes.of({0, 33}), 330u + 10 + 8);
}

TEST(Page, HoldsAsManyRowsAsItsBytesAllowAndNotOneMore) {
  for (PageBytes const& bytes :
       {PageBytes{1, 0, 0}, PageBytes{16, 3, 0}, PageBytes{0, 1, 1}, PageBytes{7, 0, 2}}) {
    for (uint64_t const most : {1, 8, 100, 101, 1000, 12345}) {
      Window const window = window_of(page_from(5, 0, most), 1000000, bytes);
      EXPECT_EQ(window.first_row, 5);
      EXPECT_TRUE(window.rows == 1 || bytes.of({0, window.rows}) <= most);
      EXPECT_GT(bytes.of({0, window.rows + 1}), most);
    }
  }
}

TEST(Page, HoldsOneRowHoweverLarge) {
  EXPECT_EQ(window_of(page_from(0, 0, 1), 10, {1000, 0, 0}).rows, 1);
  EXPECT_EQ(window_of(page_from(10, 0, 1), 10, {1000, 0, 0}).rows, 0);
}

TEST(Page, CountsTextByItsOffsets) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  tests::OwnQueue const queue(options);
  std::vector<int32_t> const offsets = {0, 10, 10, 110, 120, 130};
  std::vector<int64_t> const wide(offsets.begin(), offsets.end());
  PageBytes bytes{4, 0, 0};
  bytes.texts.emplace_back(queue, base::Memory::kHost, offsets.data(), 4);
  EXPECT_EQ(bytes.of({0, 2}), 8u + 10 + 12);
  EXPECT_EQ(bytes.of({2, 1}), 4u + 100 + 8);
  EXPECT_EQ(bytes.of({5, 0}), 0u + 0 + 4);
  EXPECT_EQ(window_of(page_from(0, 0, 29), 5, bytes).rows, 1);
  // The offset behind the last row is no row.
  EXPECT_EQ(window_of(page_from(5, 0, 1), 5, bytes).rows, 0);
  EXPECT_EQ(window_of(page_from(0, 0, 30), 5, bytes).rows, 2);
  EXPECT_EQ(window_of(page_from(2, 0, 1), 5, bytes).rows, 1);
  bytes.texts.emplace_back(queue, base::Memory::kHost, wide.data(), 8);
  EXPECT_EQ(bytes.of({0, 2}), 8u + 10 + 12 + 10 + 24);
}

TEST(Page, OfResultsBeyondFourBillionRows) {
  int64_t const rows = int64_t{1} << 40;
  Window const window = window_of(page_from(rows - 100, 0, 0), rows, {16, 1, 0});
  EXPECT_EQ(window.rows, 100);
  uint64_t const all = PageBytes{16, 1, 0}.of({0, rows});
  EXPECT_EQ(window_of(page_from(0, 0, all), rows, {16, 1, 0}).rows, rows);
  EXPECT_EQ(window_of(page_from(0, 0, all - 1), rows, {16, 1, 0}).rows, rows - 1);
}

TEST(Page, CursorsOutsideAreRefused) {
  EXPECT_THROW(window_of(page_from(-1, 0, 0), 10, {}), base::Error);
  EXPECT_THROW(window_of(page_from(11, 0, 0), 10, {}), base::Error);
  EXPECT_THROW(window_of(page_from(0, -1, 0), 10, {}), base::Error);
  EXPECT_EQ(window_of(page_from(10, 0, 0), 10, {}).rows, 0);
}

}  // namespace
}  // namespace gpujoin::columns
