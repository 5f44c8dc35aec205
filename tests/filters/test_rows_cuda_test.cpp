// test_rows_cuda_test.cpp: the device lets the same rows pass as the host does.
#include <bit>

#include "src/filters/make_filter.hpp"
#include "src/filters/test_rows.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using base::Memory;
using columns::ColumnView;
using filters::Filter;

using TestRowsOnDevice = GpuTest;

template <typename Value>
ColumnView column_of(const void* data, Memory memory) {
  ColumnView column;
  column.type = sizeof(Value) == 4 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
  column.width = sizeof(Value);
  column.arrow_format = sizeof(Value) == 4 ? "i" : "l";
  column.data = data;
  column.memory = memory;
  return column;
}

class Rows : public filters::KeySource {
 public:
  Rows(ColumnView column, int64_t rows) : column_(std::move(column)), rows_(rows) {}
  int64_t rows() const override { return rows_; }
  void read(base::Queue&, const Body& body) const override { body({&column_, 1}, rows_); }

 private:
  ColumnView column_;
  int64_t rows_;
};

template <typename Value>
void expect_same(base::Queue& queue, gpujoin_key_filter_kind kind, size_t rows) {
  std::mt19937_64 random(rows + 1);
  std::vector<Value> keys(3000);
  for (Value& key : keys) key = static_cast<Value>(random() % 20000) - 7000;
  filters::Wish wish;
  wish.kind = kind;
  auto const made = filters::make_filter(
      queue, {column_of<Value>(nullptr, Memory::kHost)}, {0}, wish,
      Rows(column_of<Value>(keys.data(), Memory::kHost), static_cast<int64_t>(keys.size())));
  std::vector<Value> values(rows);
  for (Value& value : values) value = static_cast<Value>(random() % 40000) - 15000;
  if (rows > 3) values[3] = std::numeric_limits<Value>::min();
  if (rows > 4) values[4] = std::numeric_limits<Value>::max();
  base::Buffer const on_device = upload(queue, values);
  auto const column = column_of<Value>(on_device.data(), Memory::kDevice);
  ASSERT_TRUE(filters::is_tested_on_device(*made, column));
  auto const count = static_cast<int64_t>(rows);
  std::vector<uint64_t> expected((rows + 63) / 64);
  ColumnView const in_host = column_of<Value>(values.data(), Memory::kHost);
  filters::test_in_host(*made, {&in_host, 1}, count, 0, count, expected.data());
  auto const tested = filters::test_on_device(queue, *made, column, count);
  EXPECT_EQ(tested.memory, Memory::kDevice);
  auto const bits = download<uint64_t>(queue, tested.bits.data(), expected.size());
  EXPECT_TRUE(bits == expected);
  int64_t passing = 0;
  for (uint64_t const word : expected) passing += std::popcount(word);
  EXPECT_EQ(tested.passing, passing);
}

TEST_F(TestRowsOnDevice, LetsThoseOfTheHostPass) {
  for (gpujoin_key_filter_kind const kind :
       {GPUJOIN_KEY_FILTER_MIN_MAX, GPUJOIN_KEY_FILTER_BITMAP, GPUJOIN_KEY_FILTER_BLOOM}) {
    for (size_t const rows : edge_sizes()) {
      if (rows == 0) continue;
      SCOPED_TRACE(std::to_string(kind) + " of " + std::to_string(rows));
      expect_same<int32_t>(queue(), kind, rows);
      expect_same<int64_t>(queue(), kind, rows);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
