// row_marks_test.cpp: marks of rows against a list of them, by bits, by bytes, and by bytes that
// are looked at first.
#include "src/cpu/row_marks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

void expect_marks(uint32_t rows, uint64_t marks) {
  auto const queue = cpu_queue(4, 0);
  std::mt19937_64 random(rows + marks);
  std::vector<uint32_t> marked(marks);
  std::vector<bool> wanted(rows);
  for (uint32_t& row : marked) {
    row = static_cast<uint32_t>(random() % rows) / 2 * 2;  // half of them never
    wanted[row] = true;
  }
  cpu::RowMarks found(queue, rows);
  found.mark(marked.data(), marks);
  for (uint32_t row = 0; row < rows; ++row) {
    ASSERT_EQ((found.words()[row / 32] >> (row % 32) & 1) != 0, wanted[row]) << "row " << row;
  }
}

TEST(RowMarks, OfFewRowsAmongMany) { expect_marks(1000003, 50000); }

TEST(RowMarks, OfRowsMarkedOnceOrTwice) { expect_marks(300001, 400000); }

TEST(RowMarks, OfRowsMarkedManyTimes) { expect_marks(1001, 500000); }

}  // namespace
}  // namespace gpujoin::test
