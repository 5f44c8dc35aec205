// copy_rows_cuda_test.cpp: copies of a batch's columns, and what is seen of its keys on the way.
#include "src/transform/copy_rows.hpp"

#include <string>
#include <vector>

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using CopyRows = GpuTest;

std::vector<uint64_t> keys_in_steps(size_t rows, uint64_t first, uint64_t step) {
  std::vector<uint64_t> keys(rows);
  for (size_t row = 0; row < rows; ++row) keys[row] = first + row * step;
  return keys;
}

// Columns of every width, beyond an aligned address by a value of theirs, or not.
void expect_copies(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t key_width,
                   bool is_shifted) {
  size_t const rows = keys.size();
  std::vector<HostColumn> columns;
  for (int32_t const width : {4, 1, 16, 2, 8}) columns.push_back(random_column(rows, width, rows));
  size_t const key = 2;
  columns.insert(columns.begin() + key, key_column(keys, key_width));
  std::vector<columns::DeviceColumn> sources;
  std::vector<base::Buffer> targets;
  std::vector<transform::CopiedColumn> copied;
  for (HostColumn const& column : columns) {
    auto const width = static_cast<size_t>(column.width);
    sources.push_back(place(queue, column, is_shifted ? std::min(width, size_t{8}) : 0));
    targets.push_back(queue.device_pool->allocate(base::Memory::kDevice, rows * width, "copies"));
    copied.push_back({sources.back().data, targets.back().data(), column.width});
  }
  transform::SeenKeys const seen =
      transform::copy_rows(queue, copied, key, static_cast<uint32_t>(rows));
  EXPECT_EQ(seen.keys, targets[key].data());
  EXPECT_EQ(seen.rows, rows);
  kernels::KeyRange const expected =
      transform::key_range(queue, sources[key].data, key_width, static_cast<uint32_t>(rows));
  EXPECT_EQ(seen.range.low, expected.low);
  EXPECT_EQ(seen.range.high, expected.high);
  EXPECT_EQ(seen.range.any, expected.any);
  EXPECT_EQ(seen.range.all, expected.all);
  EXPECT_EQ(seen.range.step, expected.step);
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<unsigned char> const& bytes = columns[i].data;
    EXPECT_EQ(download<unsigned char>(queue, targets[i].data(), bytes.size()), bytes)
        << "column " << i;
  }
}

TEST_F(CopyRows, AreTheRowsAndSeeTheirKeys) {
  std::vector<size_t> sizes = edge_sizes();
  sizes.push_back(1'000'003);
  for (size_t const rows : sizes) {
    if (rows == 0) continue;
    for (int32_t const width : {4, 8}) {
      for (bool const is_shifted : {false, true}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, keys of " + std::to_string(width) +
                     (is_shifted ? " bytes, shifted" : " bytes"));
        expect_copies(queue(), random_keys(rows, 2 * rows, 3, 1), width, is_shifted);
        expect_copies(queue(), keys_in_steps(rows, 0 - uint64_t{500}, 4), width, is_shifted);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(CopyRows, AreOfSoManyColumns) {
  std::vector<uint32_t> const values(1000, 7);
  base::Buffer const source = upload(queue(), values);
  constexpr size_t kColumns = 18;
  ASSERT_TRUE(transform::can_copy_rows(kColumns, 4));
  EXPECT_FALSE(transform::can_copy_rows(kColumns + 1, 4));
  EXPECT_FALSE(transform::can_copy_rows(1, 2));
  EXPECT_FALSE(transform::can_copy_rows(1, 16));
  std::vector<base::Buffer> targets;
  std::vector<transform::CopiedColumn> copied;
  for (size_t i = 0; i < kColumns; ++i) {
    targets.push_back(pool().allocate(base::Memory::kDevice, 4000, "copies"));
    copied.push_back({source.data(), targets.back().data(), 4});
  }
  transform::copy_rows(queue(), copied, kColumns - 1, 1000);
  for (base::Buffer const& target : targets) {
    EXPECT_EQ(download<uint32_t>(queue(), target.data(), 1000), values);
  }
}

}  // namespace
}  // namespace gpujoin::tests
