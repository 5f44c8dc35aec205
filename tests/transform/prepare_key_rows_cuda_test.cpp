// prepare_key_rows_cuda_test.cpp: the rows of which no key column is NULL.
#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using PrepareKeyRows = GpuTest;

TEST_F(PrepareKeyRows, LeavesOutARowWithANullInAnyColumn) {
  std::vector<std::vector<double>> const shapes = {
      {0.5}, {0.2, -1}, {-1, 0.3}, {0.1, 0.1, 0.1}, {-1, 0.5, -1, 0.5}, {0.1, 0.2, 0.1, 0.2, 0.1},
      {1, 0}};
  for (size_t const rows : edge_sizes()) {
    for (std::vector<double> const& nulls : shapes) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(nulls.size()) + " columns");
      std::vector<HostColumn> host;
      std::vector<columns::DeviceColumn> keys;
      for (size_t c = 0; c < nulls.size(); ++c) {
        host.push_back(random_column(rows, c % 2 == 0 ? 4 : 8, c));
        if (nulls[c] >= 0) {
          set_valid(&host.back(), random_valid(rows, nulls[c], rows + c),
                    static_cast<int64_t>(c) * 5);
        }
        keys.push_back(place(queue(), host.back()));
      }
      std::vector<uint32_t> expected;
      for (uint32_t row = 0; row < rows; ++row) {
        bool valid = true;
        for (HostColumn const& column : host) valid = valid && column.is_valid(row);
        if (valid) expected.push_back(row);
      }
      transform::PreparedKeys const prepared =
          transform::prepare_key_rows(queue(), keys, static_cast<int64_t>(rows));
      ASSERT_EQ(prepared.rows, expected.size());
      ASSERT_EQ(prepared.source_rows == nullptr, expected.size() == rows);
      if (prepared.source_rows == nullptr) continue;
      EXPECT_EQ(download<uint32_t>(queue(), prepared.source_rows, expected.size()), expected);
    }
  }
}

TEST_F(PrepareKeyRows, KeepsAllRowsWithoutAList) {
  std::vector<columns::DeviceColumn> keys;
  for (int32_t const width : {4, 8, 4})
    keys.push_back(place(queue(), random_column(777, width, 1)));
  transform::PreparedKeys const prepared = transform::prepare_key_rows(queue(), keys, 777);
  EXPECT_EQ(prepared.rows, 777U);
  EXPECT_EQ(prepared.source_rows, nullptr);
}

}  // namespace
}  // namespace gpujoin::tests
