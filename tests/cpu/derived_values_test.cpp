// derived_values_test.cpp: values of derived keys, of loops that know the step, against those of
// each row alone.
#include "src/cpu/derived_values.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace gpujoin::test {
namespace {

using kernels::KeyOp;

struct Step {
  KeyOp op;
  int32_t width;
};
constexpr Step kSteps[] = {{KeyOp::kAsIs, 4},     {KeyOp::kAsIs, 8},     {KeyOp::kUnsigned, 4},
                           {KeyOp::kUnsigned, 8}, {KeyOp::kUnsigned, 2}, {KeyOp::kSigned, 4},
                           {KeyOp::kSigned, 1},   {KeyOp::kFloat, 4},    {KeyOp::kFloat, 8},
                           {KeyOp::kLow, 16},     {KeyOp::kHigh, 16},    {KeyOp::kZero, 4},
                           {KeyOp::kIsNull, 8},   {KeyOp::kDecimal, 16}};

constexpr uint64_t kRows = 1000;

// How many of the rows are NULL: some of nearly all words, whole words, or all rows.
enum class Nulls { kNone, kSome, kFew, kRuns, kAll };

std::vector<uint8_t> validity_of(Nulls nulls, uint64_t bits) {
  std::mt19937_64 random(3);
  std::vector<uint8_t> bytes(bits / 8 + 1, 0);
  for (uint64_t bit = 0; bit < bits; ++bit) {
    bool const is_valid = nulls == Nulls::kSome   ? random() % 3 != 0
                          : nulls == Nulls::kFew  ? random() % 200 != 0
                          : nulls == Nulls::kRuns ? bit / 100 % 2 == 0
                                                  : false;
    if (is_valid) bytes[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
  }
  return bytes;
}

template <typename Bits>
void expect_values(Step step, Nulls nulls, int64_t offset) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> source(2 * kRows);
  for (uint64_t& word : source) word = random();
  auto const validity = validity_of(nulls, kRows + static_cast<uint64_t>(offset));
  kernels::DerivedKey key;
  key.source = source.data();
  key.op = step.op;
  key.width = step.width;
  key.power = 2;
  if (nulls != Nulls::kNone) key.nulls = {validity.data(), offset};
  bool const is_decimal = kernels::is_of_decimal(step.op);
  constexpr std::pair<uint64_t, uint64_t> kRanges[] = {{0, kRows}, {7, 9}, {61, 190}};
  for (auto const& [first, end] : kRanges) {
    uint64_t next = first;
    cpu::each_derived_value<Bits>(key, first, end, [&](uint64_t row, Bits value) {
      ASSERT_EQ(row, next++);
      Bits const wanted = is_decimal ? kernels::derived_decimal<Bits>(key, row)
                                     : kernels::derived_value<Bits>(key, row);
      ASSERT_EQ(value, wanted) << "row " << row;
    });
    ASSERT_EQ(next, end);
  }
}

TEST(DerivedValues, AreThoseOfEachRow) {
  for (Step const step : kSteps) {
    for (Nulls const nulls : {Nulls::kNone, Nulls::kSome, Nulls::kFew, Nulls::kRuns, Nulls::kAll}) {
      for (int64_t const offset : {0, 5, 64}) {
        SCOPED_TRACE(testing::Message()
                     << "op " << static_cast<int>(step.op) << " width " << step.width << " nulls "
                     << static_cast<int>(nulls) << " offset " << offset);
        expect_values<uint32_t>(step, nulls, offset);
        expect_values<uint64_t>(step, nulls, offset);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::test
