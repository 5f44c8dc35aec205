// prepare_columns_cuda_test.cpp: payloads, validity and row numbers in the order of the prepared
// keys.
#include <numeric>

#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using PrepareColumns = GpuTest;
using transform::PreparedColumn;
using transform::PreparedKeys;

// Keys of which `nulls` are NULL: 0 keeps all rows, 1 none.
struct Side {
  columns::DeviceColumn column;
  PreparedKeys keys;
  std::vector<uint32_t> source_rows;  // what the keys should say
};

Side make_side(base::Queue& queue, size_t rows, double nulls) {
  Side side;
  HostColumn host = key_column(random_keys(rows, 100, 1, rows), 4);
  if (nulls > 0) set_valid(&host, random_valid(rows, nulls, rows + 1), 6);
  for (size_t row = 0; row < rows; ++row) {
    if (host.is_valid(row)) side.source_rows.push_back(static_cast<uint32_t>(row));
  }
  side.column = place(queue, host);
  side.keys = transform::prepare_keys(queue, side.column, static_cast<int64_t>(rows), false);
  return side;
}

TEST_F(PrepareColumns, ValuesOfEveryWidthFollowTheKeys) {
  for (double nulls : {0.2, 0.9, 1.0}) {
    for (size_t rows : edge_sizes()) {
      Side const side = make_side(queue(), rows, nulls);
      for (int32_t width : {1, 2, 4, 8, 16}) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes");
        HostColumn const host = random_column(rows, width, rows);
        columns::DeviceColumn const column = place(queue(), host);
        PreparedColumn const prepared = transform::prepare_values(queue(), side.keys, column);
        EXPECT_EQ(prepared.width, width);
        std::vector<unsigned char> const expected = bytes_of_rows(host, side.source_rows);
        ASSERT_EQ(download<unsigned char>(queue(), prepared.data, expected.size()), expected);
      }
    }
  }
}

TEST_F(PrepareColumns, ValuesStayWhereTheyLieWhenNoRowWasDropped) {
  Side const side = make_side(queue(), 3000, 0);
  HostColumn const host = random_column(3000, 8, 1);
  columns::DeviceColumn const column = place(queue(), host);
  PreparedColumn const prepared = transform::prepare_values(queue(), side.keys, column);
  EXPECT_EQ(prepared.data, column.data);
  EXPECT_FALSE(prepared.copy);
}

TEST_F(PrepareColumns, SixteenByteValuesNeedAlignmentToEightOnly) {
  Side const side = make_side(queue(), 2000, 0.3);
  HostColumn const host = random_column(2000, 16, 5);
  columns::DeviceColumn const column = place(queue(), host, 8);
  PreparedColumn const prepared = transform::prepare_values(queue(), side.keys, column);
  std::vector<unsigned char> const expected = bytes_of_rows(host, side.source_rows);
  EXPECT_EQ(download<unsigned char>(queue(), prepared.data, expected.size()), expected);
}

TEST_F(PrepareColumns, ValidityBecomesOneByteARow) {
  for (double null_keys : {0.0, 0.4, 1.0}) {
    for (size_t rows : edge_sizes()) {
      for (int64_t offset : {0, 1, 7, 8, 29}) {
        SCOPED_TRACE(std::to_string(rows) + " rows from bit " + std::to_string(offset));
        Side const side = make_side(queue(), rows, null_keys);
        HostColumn host = random_column(rows, 4, rows);
        set_valid(&host, random_valid(rows, 0.5, rows + 9), offset);
        columns::DeviceColumn const column = place(queue(), host);
        PreparedColumn const prepared = transform::prepare_validity(queue(), side.keys, column);
        EXPECT_EQ(prepared.width, 1);
        std::vector<unsigned char> expected;
        for (uint32_t row : side.source_rows) expected.push_back(host.valid[row]);
        ASSERT_EQ(download<unsigned char>(queue(), prepared.data, expected.size()), expected);
      }
    }
  }
}

TEST_F(PrepareColumns, RowIdsNameTheOriginalRows) {
  for (double nulls : {0.0, 0.1, 0.9, 1.0}) {
    for (size_t rows : edge_sizes()) {
      SCOPED_TRACE(std::to_string(rows) + " rows, nulls " + std::to_string(nulls));
      Side const side = make_side(queue(), rows, nulls);
      PreparedColumn const prepared = transform::prepare_row_ids(queue(), side.keys);
      EXPECT_EQ(prepared.width, 4);
      ASSERT_EQ(download<uint32_t>(queue(), prepared.data, side.source_rows.size()),
                side.source_rows);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
