// output_rows_test.cpp: output whose size is not known before: one slab that fits, one that was far
// too large, and several of which the last one takes the rows of all.
#include "src/cpu/output_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "src/cpu/workers.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

constexpr uint32_t kAtOnce = 1000;  // no multiple of 64

uint64_t value_of(uint64_t row) { return row * 0x9e3779b97f4a7c15; }
bool is_valid_at(uint64_t row) { return row % 3 != 0; }

// Rows number 0, 1, 2 ... in that order, and whether each came out with its value and validity.
void expect_all_rows(uint64_t rows, uint64_t expected, int32_t slabs) {
  auto const queue = cpu_queue();
  cpu::OutputRows output(queue, {{8, true}, {4, false}}, expected);
  std::vector<uint64_t> wide(kAtOnce);
  std::vector<uint32_t> narrow(kAtOnce);
  for (uint64_t row = 0; row < rows;) {
    auto const left = static_cast<uint32_t>(std::min<uint64_t>(kAtOnce, rows - row));
    cpu::OutputRows::Place const place = output.claim(left);
    std::array<uint64_t, (kAtOnce + 63) / 64> bits{};
    for (uint32_t i = 0; i < place.rows; ++i) {
      wide[i] = value_of(row + i);
      narrow[i] = static_cast<uint32_t>(row + i);
      bits[i / 64] |= uint64_t{is_valid_at(row + i)} << (i % 64);
    }
    output.write_values(place, 0, reinterpret_cast<const std::byte*>(wide.data()));
    output.write_bits(place, 0, bits.data());
    output.write_values(place, 1, reinterpret_cast<const std::byte*>(narrow.data()));
    row += place.rows;
  }
  cpu::Workers workers(queue);
  cpu::OutputRows::Finished const finished = output.finish(workers);
  ASSERT_EQ(finished.rows, rows);
  EXPECT_EQ(finished.slabs, slabs);
  EXPECT_EQ(finished.columns[0].null_count, static_cast<int64_t>((rows + 2) / 3));
  EXPECT_EQ(finished.columns[1].bits, nullptr);
  auto const* const values = static_cast<const uint64_t*>(finished.columns[0].values.get());
  auto const* const bits = static_cast<const uint64_t*>(finished.columns[0].bits.get());
  auto const* const numbers = static_cast<const uint32_t*>(finished.columns[1].values.get());
  for (uint64_t row = 0; row < rows; ++row) {
    ASSERT_EQ(values[row], value_of(row)) << row;
    ASSERT_EQ(numbers[row], row);
    ASSERT_EQ((bits[row / 64] >> (row % 64) & 1) != 0, is_valid_at(row)) << row;
  }
}

TEST(OutputRows, OneSlabFits) { expect_all_rows(9000, 10000, 1); }

TEST(OutputRows, OneSlabWasFarTooLarge) { expect_all_rows(5001, 1000000, 1); }

TEST(OutputRows, SeveralSlabsComeTogetherInTheLast) {
  expect_all_rows(5001, 5000, 2);
  expect_all_rows(10000, 5000, 2);
  expect_all_rows(333333, 5037, 8);
}

}  // namespace
}  // namespace gpujoin::test
