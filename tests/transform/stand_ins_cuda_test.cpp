// stand_ins_cuda_test.cpp: values that stand for NULL: that no valid row has them, and that they
// are found again.
#include "src/transform/stand_ins.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/materialize/materialize.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using StandIns = GpuTest;

uint64_t low_bytes(const HostColumn& column, size_t row) {
  uint64_t value = 0;
  auto const width = static_cast<size_t>(column.width);
  std::memcpy(&value, column.data.data() + row * width, std::min<size_t>(width, 8));
  return value;
}

TEST_F(StandIns, AreValuesThatNoValidRowHas) {
  for (int32_t width : {4, 8, 16}) {
    for (size_t rows : edge_sizes()) {
      for (int64_t offset : {0, 1, 7, 29}) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes, bit " +
                     std::to_string(offset));
        HostColumn host = random_column(rows, width, rows);
        set_valid(&host, random_valid(rows, 0.3, rows + 9), offset);
        // At an address of vectors, and between two.
        columns::DeviceColumn const aligned = place(queue(), host);
        columns::DeviceColumn const odd = place(queue(), host, width == 4 ? 4 : 8);
        std::array<const columns::DeviceColumn*, 2> const columns = {&aligned, &odd};
        auto const found = transform::find_stand_ins(queue(), columns, static_cast<int64_t>(rows));
        ASSERT_EQ(found.size(), 2U);
        uint64_t const mask = width == 4 ? 0xffffffffU : ~uint64_t{0};
        for (size_t row = 0; row < rows; ++row) {
          if (host.valid[row] == 0) continue;
          for (uint64_t const value : found) ASSERT_NE(low_bytes(host, row), value & mask);
        }
      }
    }
  }
}

// A column that has most values of a range, so that what is drawn is taken at first.
TEST_F(StandIns, AreDrawnAgainWhereAllAreTaken) {
  auto const first = static_cast<uint32_t>(transform::draw_stand_in(queue()));
  HostColumn host = random_column(32, 4, 2);
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t const value = first + i;
    std::memcpy(host.data.data() + i * 4, &value, 4);
  }
  set_valid(&host, std::vector<unsigned char>(32, 1), 3);
  columns::DeviceColumn const taken = place(queue(), host);
  std::array<const columns::DeviceColumn*, 1> const columns = {&taken};
  auto const second =
      static_cast<uint32_t>(transform::find_stand_ins(queue(), columns, 32).front());
  EXPECT_NE(first, second & ~31U);
}

TEST_F(StandIns, AreFoundInAColumn) {
  for (int32_t width : {4, 8, 16}) {
    for (size_t rows : edge_sizes()) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " bytes");
      HostColumn host = random_column(rows, width, rows);
      std::vector<unsigned char> const valid = random_valid(rows, 0.3, rows + 5);
      uint64_t const stand_in = 0x1234567890abcdefULL;
      for (size_t row = 0; row < rows; ++row) {
        if (valid[row] != 0) continue;
        std::memcpy(host.data.data() + row * static_cast<size_t>(width), &stand_in,
                    std::min<size_t>(static_cast<size_t>(width), 8));
      }
      columns::ResultColumn column;
      column.width = width;
      column.data = columns::make_storage(upload(queue(), host.data));
      materialize::NullCounts null_counts(queue(), 1);
      materialize::find_nulls(queue(), rows, stand_in, null_counts, &column);
      null_counts.finish();
      auto const nulls = std::count(valid.begin(), valid.end(), 0);
      ASSERT_EQ(column.null_count, nulls);
      if (nulls == 0) continue;
      auto const words = download<uint32_t>(queue(), column.validity.get(), (rows + 31) / 32);
      for (size_t row = 0; row < words.size() * 32; ++row) {
        ASSERT_EQ((words[row / 32] >> row % 32 & 1) != 0, row < rows && valid[row] != 0) << row;
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
