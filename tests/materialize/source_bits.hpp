// source_bits.hpp: columns of bits, and what a gather of them must answer. Of the tests of both
// executors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/materialize/source_columns.hpp"

namespace gpujoin::tests {

struct BitsColumn {
  std::vector<std::optional<bool>> values;
  std::vector<uint8_t> bits, validity;  // validity empty: no NULLs
  int64_t offset = 0, validity_offset = 0;
};

using GatherBits =
    std::function<HostGathered(const BitsColumn&, const std::vector<uint32_t>*, size_t count)>;

inline BitsColumn bits_column(size_t rows, double nulls, int64_t offset, int64_t validity_offset) {
  std::mt19937_64 random(rows);
  std::bernoulli_distribution is_null(nulls);
  BitsColumn column;
  for (size_t row = 0; row < rows; ++row) {
    bool const value = random() % 2 == 0;
    column.values.push_back(is_null(random) ? std::nullopt : std::optional(value));
  }
  column.offset = offset;
  column.validity_offset = validity_offset;
  column.bits =
      bits_of(rows, offset, 0xa5, [&](size_t row) { return column.values[row].value_or(true); });
  if (nulls == 0) return column;
  column.validity = bits_of(rows, validity_offset, 0x5a,
                            [&](size_t row) { return column.values[row].has_value(); });
  return column;
}

inline void expect_bits(const GatherBits& gather, const BitsColumn& column,
                        const std::vector<uint32_t>* rows, size_t count) {
  SCOPED_TRACE(testing::Message() << count << " rows of bits from " << column.offset);
  HostGathered const found = gather(column, rows, count);
  ASSERT_EQ(found.gathered.data == nullptr, count == 0);
  ASSERT_EQ(found.gathered.bytes, (count + 7) / 8);
  ASSERT_EQ(found.gathered.offsets, nullptr);
  std::vector<bool> valid(count), bits(count);
  for (size_t i = 0; i < count; ++i) {
    size_t const row = rows != nullptr ? (*rows)[i] : i;
    valid[i] = row != GPUJOIN_NO_ROW && column.values[row].has_value();
    bits[i] = valid[i] && *column.values[row];
  }
  for (size_t i = 0; i < found.data.size() * 8; ++i) {
    ASSERT_EQ((found.data[i / 8] >> (i % 8) & 1) != 0, i < count && bits[i]) << "bit " << i;
  }
  expect_validity(found, valid);
}

inline void takes_bits(const GatherBits& gather) {
  constexpr size_t kSourceRows = 3000;
  for (double const nulls : {0.0, 0.3, 1.0}) {
    for (auto const& [offset, validity_offset] :
         {std::pair<int64_t, int64_t>{0, 0}, {3, 0}, {9, 77}}) {
      BitsColumn const column = bits_column(kSourceRows, nulls, offset, validity_offset);
      for (uint64_t const missing : {0, 5}) {
        for (size_t const count : gathered_counts()) {
          std::vector<uint32_t> const rows = drawn_rows(count, kSourceRows, missing);
          ASSERT_NO_FATAL_FAILURE(expect_bits(gather, column, &rows, count));
        }
      }
      ASSERT_NO_FATAL_FAILURE(expect_bits(gather, column, nullptr, kSourceRows));
    }
  }
  std::vector<uint32_t> const no_rows(100, GPUJOIN_NO_ROW);
  ASSERT_NO_FATAL_FAILURE(expect_bits(gather, bits_column(0, 0, 0, 0), &no_rows, 100));
}

}  // namespace gpujoin::tests
