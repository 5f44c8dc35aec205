// ordered_keys_test.cpp: codes of two columns have the order of their values: every pair of rows,
// within a side and across, is held against numbers of 128 bits.
#include "src/execute/ordered_keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "src/cpu/merge_sort.hpp"
#include "src/keys/derived_key.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::test {
namespace {

using columns::ColumnView;
using columns::Layout;
__extension__ typedef __int128 Int128;

struct Column {
  columns::Relation relation;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> bits;
  std::vector<std::string> text;

  const ColumnView& view() const { return relation.columns.front(); }
};

Column column_of(gpujoin_type type, int32_t width, const std::string& format, size_t rows) {
  Column made;
  made.relation.rows = static_cast<int64_t>(rows);
  ColumnView view;
  view.type = type;
  view.width = width;
  view.layout = columns::layout_of(type);
  view.arrow_format = format.empty() ? columns::arrow_format_of(type) : format;
  made.bytes.resize(rows * static_cast<size_t>(width));
  made.relation.columns.push_back(view);
  return made;
}
void take(Column& made) {
  ColumnView& view = made.relation.columns.front();
  view.data = made.bytes.data();
  if (!made.bits.empty()) view.validity = made.bits.data();
}

// Integers of up to 16 bytes, lower bytes first.
Column integers(gpujoin_type type, int32_t width, const std::vector<Int128>& values,
                const std::string& format = "", int32_t scale = 0) {
  Column made = column_of(type, width, format, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    auto const at = i * static_cast<size_t>(width);
    auto const given = static_cast<size_t>(std::min(width, 16));
    std::memcpy(&made.bytes[at], &values[i], given);
    std::fill(made.bytes.begin() + static_cast<ptrdiff_t>(at + given),
              made.bytes.begin() + static_cast<ptrdiff_t>(at + static_cast<size_t>(width)),
              values[i] < 0 ? 0xff : 0);
  }
  if (scale != 0) {
    auto parts = std::make_shared<columns::ColumnParts>();
    parts->scale = scale;
    made.relation.columns.front().parts = parts;
  }
  take(made);
  return made;
}

template <typename Float>
Column floats(gpujoin_type type, const std::vector<Float>& values) {
  Column made = column_of(type, sizeof(Float), "", values.size());
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  take(made);
  return made;
}

// Without NULLs of its own: every third row.
void null_every_third(Column& column) {
  column.bits.assign(static_cast<size_t>(column.relation.rows) / 8 + 1, 0);
  for (int64_t row = 0; row < column.relation.rows; ++row) {
    if (row % 3 != 0)
      column.bits[static_cast<size_t>(row / 8)] |= static_cast<uint8_t>(1 << row % 8);
  }
  take(column);
}

class OrderedKeys : public testing::Test {
 protected:
  gpujoin_context_options options() {
    gpujoin_context_options made = GPUJOIN_CONTEXT_OPTIONS_INIT;
    made.device = GPUJOIN_DEVICE_CPU;
    made.cpu_threads = 2;
    return made;
  }
  execute::OrderedKeys order(const Column& left, const Column& right) {
    return execute::order_keys(queue_, plan::Device::kCpu, {left.relation, left.view()},
                               {right.relation, right.view()});
  }
  // value: of a row of a side, as anything with an order.
  template <typename Value>
  void expect_order(const Column& left, const std::vector<Value>& left_values, const Column& right,
                    const std::vector<Value>& right_values, execute::CodeDistance distance) {
    execute::OrderedKeys const made = order(left, right);
    EXPECT_EQ(static_cast<int>(made.distance), static_cast<int>(distance));
    struct Row {
      uint64_t code;
      Value value;
    };
    std::vector<Row> rows;
    auto const add = [&](const ColumnView& view, const Column& of,
                         const std::vector<Value>& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        bool const is_valid = kernels::is_valid({view.validity, view.validity_bit_offset}, i);
        bool const was_valid = of.bits.empty() || (of.bits[i / 8] >> (i % 8) & 1) != 0;
        EXPECT_EQ(is_valid, was_valid) << i;
        if (is_valid) rows.push_back({static_cast<const uint64_t*>(view.data)[i], values[i]});
      }
    };
    add(made.left, left, left_values);
    add(made.right, right, right_values);
    for (Row const& one : rows) {
      for (Row const& other : rows) {
        ASSERT_EQ(one.code < other.code, one.value < other.value)
            << one.code << " of " << static_cast<double>(one.value) << ", " << other.code << " of "
            << static_cast<double>(other.value);
        ASSERT_EQ(one.code == other.code, one.value == other.value);
        if (distance == execute::CodeDistance::kUnits && one.value > other.value) {
          ASSERT_EQ(one.code - other.code, static_cast<uint64_t>(one.value - other.value));
        }
      }
    }
  }
  tests::OwnQueue queue_{options()};
};

constexpr auto kUnits = execute::CodeDistance::kUnits;
constexpr auto kRanks = execute::CodeDistance::kRanks;

std::vector<Int128> times(const std::vector<Int128>& values, Int128 factor) {
  std::vector<Int128> made;
  for (Int128 const value : values) made.push_back(value * factor);
  return made;
}

std::vector<Int128> small_numbers() {
  std::vector<Int128> values;
  for (Int128 value = -20; value <= 20; value += 3) values.push_back(value);
  values.push_back(127);
  values.push_back(-128);
  return values;
}

TEST_F(OrderedKeys, IntegersOfAnyWidthAndSign) {
  std::vector<Int128> const left = small_numbers();
  std::vector<Int128> const right = {0, 1, 2, 19, 20, 127, 255};
  std::vector<Int128> const large = {INT64_MIN, -1, 0, 5, INT64_MAX};
  Column const narrow = integers(GPUJOIN_TYPE_INT8, 1, left);
  expect_order(narrow, left, integers(GPUJOIN_TYPE_INT64, 8, large), large, kUnits);
  expect_order(narrow, left, integers(GPUJOIN_TYPE_UINT8, 1, right), right, kUnits);
  expect_order(narrow, left, integers(GPUJOIN_TYPE_UINT32, 4, right), right, kUnits);
  expect_order(narrow, left, integers(GPUJOIN_TYPE_UINT64, 8, right), right, kUnits);
  expect_order(integers(GPUJOIN_TYPE_UINT16, 2, right), right,
               integers(GPUJOIN_TYPE_UINT64, 8, right), right, kUnits);
}

TEST_F(OrderedKeys, SignedAndUnsigned64FartherApartThan8BytesTell) {
  std::vector<Int128> const left = {INT64_MIN, -1, 0, 1, INT64_MAX, 7};
  std::vector<Int128> const right = {0, 1, INT64_MAX, Int128{INT64_MAX} + 1, UINT64_MAX, 7};
  Column of_left = integers(GPUJOIN_TYPE_INT64, 8, left);
  Column const of_right = integers(GPUJOIN_TYPE_UINT64, 8, right);
  expect_order(of_left, left, of_right, right, kRanks);
  expect_order(of_right, right, of_left, left, kRanks);
  null_every_third(of_left);
  expect_order(of_left, left, of_right, right, kRanks);
}

TEST_F(OrderedKeys, NullsDoNotCountAmongTheExtremes) {
  // What lies beneath the NULLs would not fit.
  std::vector<Int128> const left = {-5, INT64_MIN, INT64_MIN, 9};
  std::vector<Int128> const right = {UINT64_MAX - 5, 1, 3};
  Column of_left = integers(GPUJOIN_TYPE_INT64, 8, left);
  of_left.bits = {0b1001};
  take(of_left);
  expect_order(of_left, left, integers(GPUJOIN_TYPE_UINT64, 8, right), right, kUnits);
}

TEST_F(OrderedKeys, DecimalsOfAnyScale) {
  std::vector<Int128> const left = {-12345, -1, 0, 1, 99, 100, 101, 250};
  std::vector<Int128> const right = {-1, 0, 1, 2, 3};
  expect_order(integers(GPUJOIN_TYPE_BYTES16, 16, left, "d:38,2", 2), left,
               integers(GPUJOIN_TYPE_DECIMAL64, 8, right, "d:18", 0), times(right, 100), kUnits);
  expect_order(integers(GPUJOIN_TYPE_DECIMAL32, 4, left, "d:9,2,32", 2), left,
               integers(GPUJOIN_TYPE_INT32, 4, right), times(right, 100), kUnits);
  expect_order(integers(GPUJOIN_TYPE_DECIMAL256, 32, right, "d:70,-2,256", -2), times(right, 10000),
               integers(GPUJOIN_TYPE_BYTES16, 16, left, "d:38,2", 2), left, kUnits);
  std::vector<Int128> large = left;
  large.push_back(Int128{1} << 100);
  large.push_back(-(Int128{1} << 90));
  std::vector<Int128> const natural = {0, 1, 3, UINT64_MAX};
  expect_order(integers(GPUJOIN_TYPE_BYTES16, 16, large, "d:38,2", 2), large,
               integers(GPUJOIN_TYPE_UINT64, 8, natural), times(natural, 100), kRanks);
}

TEST_F(OrderedKeys, DecimalsOfScalesFarApart) {
  // 10^152 of the one side's last place is one of the other's: whatever is not 0 exceeds it.
  std::vector<Int128> const coarse = {-2, -1, 0, 1, 2};
  std::vector<Int128> const fine = {-9, -1, 0, 1, 9};
  std::vector<double> coarse_values;
  for (Int128 const value : coarse) coarse_values.push_back(static_cast<double>(value) * 1e152);
  std::vector<double> fine_values;
  for (Int128 const value : fine) fine_values.push_back(static_cast<double>(value));
  expect_order(integers(GPUJOIN_TYPE_DECIMAL256, 32, coarse, "d:76,-76,256", -76), coarse_values,
               integers(GPUJOIN_TYPE_DECIMAL256, 32, fine, "d:76,76,256", 76), fine_values, kRanks);
}

TEST_F(OrderedKeys, TimesOfAnyUnit) {
  std::vector<Int128> const days = {-1, 0, 1, 2, 19000};
  constexpr Int128 kDay = 86'400'000'000;
  std::vector<Int128> const micros = {-kDay, -1, 0, 1, kDay, kDay + 1, 19000 * kDay - 1};
  expect_order(integers(GPUJOIN_TYPE_DATE32, 4, days), times(days, kDay),
               integers(GPUJOIN_TYPE_TIMESTAMP_US, 8, micros), micros, kUnits);
  // Days that nanoseconds do not count in 64 bits.
  std::vector<Int128> const far = {-INT32_MAX, 0, 1, INT32_MAX};
  expect_order(integers(GPUJOIN_TYPE_DATE32, 4, far), times(far, kDay * 1000),
               integers(GPUJOIN_TYPE_TIMESTAMP_NS, 8, micros), micros, kRanks);
  std::vector<Int128> const seconds = {0, 1, 2, 86399};
  expect_order(integers(GPUJOIN_TYPE_TIME32, 4, seconds, "tts"), times(seconds, 1000000),
               integers(GPUJOIN_TYPE_TIME64, 8, micros, "ttu"), micros, kUnits);
}

TEST_F(OrderedKeys, Floats) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> const left = {-kInfinity, -1e300, -1.5, -0.0, 0.0, 5e-324, 0.5, kInfinity};
  std::vector<float> const right = {-1.5F, 0.0F, -0.0F, 0.5F, 3e38F};
  std::vector<double> const wide(right.begin(), right.end());
  expect_order(floats(GPUJOIN_TYPE_FLOAT64, left), left, floats(GPUJOIN_TYPE_FLOAT32, right), wide,
               execute::CodeDistance::kFloats);
  std::vector<uint16_t> const halves = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x7bff};
  std::vector<double> const of_halves = {0, 0, 1, -1, std::ldexp(1, -24), 65504};
  expect_order(floats(GPUJOIN_TYPE_FLOAT16, halves), of_halves, floats(GPUJOIN_TYPE_FLOAT32, right),
               wide, execute::CodeDistance::kFloats);
  Column const nan = floats<double>(GPUJOIN_TYPE_FLOAT64,
                                    {kInfinity, std::nan(""), -std::nan("1"), std::nan("7")});
  execute::OrderedKeys const made = order(nan, nan);
  auto const* const codes = static_cast<const uint64_t*>(made.left.data);
  EXPECT_EQ(codes[0], made.greatest);
  for (int i = 1; i < 4; ++i) {
    EXPECT_GT(codes[i], made.greatest);
    EXPECT_EQ(codes[i], codes[1]);
  }
  EXPECT_EQ(kernels::float_of_code(codes[0]), kInfinity);
}

TEST_F(OrderedKeys, DictionariesAndNullColumns) {
  std::vector<Int128> const values = {30, 10, 20};
  Column const named = integers(GPUJOIN_TYPE_INT32, 4, values);
  std::vector<Int128> const positions = {2, 0, 1, 0};
  Column indices = integers(GPUJOIN_TYPE_INT8, 1, positions);
  ColumnView& view = indices.relation.columns.front();
  view.type = GPUJOIN_TYPE_DICTIONARY;
  view.layout = Layout::kIndices;
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->values = std::make_shared<ColumnView>(named.view());
  parts->value_rows = 3;
  view.parts = parts;
  std::vector<Int128> const decoded = {20, 30, 10, 30};
  expect_order(indices, decoded, integers(GPUJOIN_TYPE_INT64, 8, values), values, kUnits);

  Column nulls = column_of(GPUJOIN_TYPE_NULL, 0, "", 4);
  nulls.bits = {0};
  std::vector<Int128> const none(4, 0);
  expect_order(nulls, none, named, values, kUnits);
  expect_order(named, values, nulls, none, kUnits);
  expect_order(nulls, none, nulls, none, kUnits);
}

TEST_F(OrderedKeys, WhichColumnsHaveNoOrder) {
  Column const number = integers(GPUJOIN_TYPE_INT32, 4, {1});
  Column const decimal = integers(GPUJOIN_TYPE_BYTES16, 16, {1}, "d:38,2", 2);
  Column const uuid = integers(GPUJOIN_TYPE_BYTES16, 16, {1});
  Column const time = integers(GPUJOIN_TYPE_TIMESTAMP_S, 8, {1});
  Column const zoned = integers(GPUJOIN_TYPE_TIMESTAMP_S, 8, {1}, "tss:UTC");
  Column const real = floats<double>(GPUJOIN_TYPE_FLOAT64, {1});
  EXPECT_TRUE(execute::have_order(number.view(), decimal.view()));
  EXPECT_TRUE(execute::have_order(zoned.view(), zoned.view()));
  EXPECT_FALSE(execute::have_order(uuid.view(), uuid.view()));
  EXPECT_FALSE(execute::have_order(time.view(), zoned.view()));
  EXPECT_FALSE(execute::have_order(number.view(), real.view()));
  EXPECT_FALSE(execute::have_order(number.view(), time.view()));
}

TEST_F(OrderedKeys, PlainColumnsOf8BytesNeedNoCodes) {
  Column const number = integers(GPUJOIN_TYPE_INT64, 8, {1});
  Column const natural = integers(GPUJOIN_TYPE_UINT64, 8, {1});
  Column const narrow = integers(GPUJOIN_TYPE_INT32, 4, {1});
  auto const as_they_are = [](const Column& left, const Column& right) {
    return execute::ordered_as_they_are(plan::Device::kCpu, left.view(), right.view());
  };
  EXPECT_EQ(as_they_are(number, number), kernels::kSignBit);
  EXPECT_EQ(as_they_are(natural, natural), uint64_t{0});
  EXPECT_EQ(as_they_are(number, natural), std::nullopt);
  EXPECT_EQ(as_they_are(number, narrow), std::nullopt);
  EXPECT_EQ(execute::ordered_as_they_are(plan::Device::kCuda, number.view(), number.view()),
            std::nullopt);
}

TEST_F(OrderedKeys, MergeSortOfManyRows) {
  cpu::Workers workers(queue_);
  std::mt19937_64 random(7);
  for (size_t const count : {0UL, 1UL, 16384UL, 16385UL, 300001UL}) {
    std::vector<uint64_t> values(count);
    for (uint64_t& value : values) value = random() % 1000;
    std::vector<uint64_t> expected = values;
    std::sort(expected.begin(), expected.end());
    std::vector<uint64_t> scratch(count);
    cpu::merge_sort(workers, "sort", values.data(), scratch.data(), count, std::less<>());
    EXPECT_EQ(values, expected);
  }
}

}  // namespace
}  // namespace gpujoin::test
