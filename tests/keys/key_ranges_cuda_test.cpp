// key_ranges_cuda_test.cpp: the lowest and highest value of every key column, of valid rows alone.
#include "src/keys/key_ranges.hpp"

#include "tests/keys/key_tables.hpp"

namespace gpujoin::tests {
namespace {

using KeyRanges = GpuTest;
using keys::AskedRows;
using Widths = std::vector<int32_t>;

void expect_ranges(base::Queue& queue, KeyTable left, KeyTable right) {
  left.place_all(queue, left.rows % 3);
  right.place_all(queue);
  keys::KeyRanges const found =
      keys::key_ranges(queue, {left.keys, static_cast<int64_t>(left.rows)},
                       {right.keys, static_cast<int64_t>(right.rows)}, AskedRows::kAll);
  EXPECT_TRUE(found.of_all_rows);
  auto const expect_side = [](const KeyTable& table, const std::vector<keys::ColumnRange>& ranges) {
    std::vector<uint32_t> const rows = table.valid_rows();
    ASSERT_EQ(ranges.size(), table.hosts.size());
    std::vector<keys::ColumnRange> const expected = table.ranges(rows);
    for (size_t c = 0; c < ranges.size(); ++c) {
      SCOPED_TRACE(c);
      if (rows.empty()) {
        EXPECT_GT(ranges[c].low, ranges[c].high);
      } else {
        EXPECT_EQ(ranges[c], expected[c]);
      }
    }
  };
  expect_side(left, found.left);
  expect_side(right, found.right);
}

TEST_F(KeyRanges, AreThoseOfTheValidRowsOfEverySize) {
  for (size_t const rows : edge_sizes()) {
    for (double const nulls : {0.0, 0.3, 1.0}) {
      for (Widths const& widths : {Widths{8}, Widths{4, 8}, Widths{8, 4, 4, 8, 4}}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(widths.size()) +
                     " columns, NULLs " + std::to_string(nulls));
        expect_ranges(queue(), key_table(rows, widths, 12, rows, nulls),
                      key_table(rows / 2 + 3, widths, 31, rows + 1, nulls));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(KeyRanges, FindAnExtremeWhereverItLies) {
  // More tiles than blocks, and the next launch finds the state as it was.
  constexpr size_t kRows = size_t{1} << 22;
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 6; ++trial) {
    KeyTable left = key_table(kRows + static_cast<size_t>(trial), {8, 4}, 10, 1);
    KeyTable right = key_table(5, {8, 4}, 3, 2);
    for (size_t c = 0; c < 2; ++c) {
      for (uint64_t const value : {uint64_t{1} << 30, 0 - (uint64_t{1} << 30)}) {
        auto const width = static_cast<size_t>(left.hosts[c].width);
        std::memcpy(&left.hosts[c].data[random() % left.rows * width], &value, width);
      }
    }
    expect_ranges(queue(), std::move(left), std::move(right));
    if (HasFailure()) return;
  }
}

TEST_F(KeyRanges, OfOneValueAtAnEndOfItsTypeAreThatValue) {
  for (int32_t const width : {4, 8}) {
    uint64_t const sign = uint64_t{1} << (8 * width - 1);
    for (uint64_t const value : {sign, sign - 1, uint64_t{0}, sign - 1 + sign}) {
      SCOPED_TRACE(value);
      KeyTable table;
      table.rows = 100;
      table.hosts = {key_column(std::vector<uint64_t>(100, value), width)};
      expect_ranges(queue(), std::move(table), key_table(3, {width}, 3, 1));
    }
  }
}

TEST_F(KeyRanges, OfNoRowsAreNone) {
  KeyTable none = key_table(0, {4, 8}, 3, 1);
  none.place_all(queue());
  keys::KeyRanges const found =
      keys::key_ranges(queue(), {none.keys, 0}, {none.keys, 0}, AskedRows::kAll);
  for (keys::ColumnRange const& range : found.of_both()) EXPECT_GT(range.low, range.high);
}

TEST_F(KeyRanges, OfDrawnRowsHaveTheFirstAndTheLast) {
  for (size_t const rows :
       {size_t{1} << 17, (size_t{1} << 17) + 1, size_t{1} << 20, (size_t{1} << 22) + 12345}) {
    SCOPED_TRACE(rows);
    std::vector<uint64_t> ascending(rows);
    std::iota(ascending.begin(), ascending.end(), uint64_t{1} << 40);
    KeyTable left;
    left.rows = rows;
    left.hosts = {key_column(ascending, 8)};
    left.place_all(queue());
    KeyTable right = key_table(1000, {8}, 9, 5);
    right.place_all(queue());
    keys::KeyRanges const found = keys::key_ranges(queue(), {left.keys, static_cast<int64_t>(rows)},
                                                   {right.keys, 1000}, AskedRows::kDrawn);
    EXPECT_EQ(found.of_all_rows, rows == size_t{1} << 17);
    uint64_t const sign = uint64_t{1} << 63;
    EXPECT_EQ(found.left[0].low, ascending.front() ^ sign);
    EXPECT_EQ(found.left[0].high, ascending.back() ^ sign);
    EXPECT_EQ(found.right, right.ranges(right.valid_rows()));
  }
}

TEST_F(KeyRanges, OfDrawnRowsSkipOthers) {
  // Where every row but the drawn ones is far away, a draw does not see it.
  constexpr size_t kRows = size_t{1} << 21;
  KeyTable table = key_table(kRows, {8}, 8, 1);
  std::vector<uint64_t> values(kRows, 5);
  for (size_t row = 300; row < 900; ++row) values[row] = 1000;  // between two stripes
  table.hosts = {key_column(values, 8)};
  table.place_all(queue());
  keys::KeyColumns const keys = {table.keys, kRows};
  keys::KeyRanges const drawn = keys::key_ranges(queue(), keys, keys, AskedRows::kDrawn);
  EXPECT_EQ(drawn.left[0].high, uint64_t{5} ^ uint64_t{1} << 63);
  keys::KeyRanges const all = keys::key_ranges(queue(), keys, keys, AskedRows::kAll);
  EXPECT_EQ(all.left[0].high, uint64_t{1000} ^ uint64_t{1} << 63);
}

}  // namespace
}  // namespace gpujoin::tests
