// order_by_key_cuda_test.cpp: a stable order by some bits of the key, the same for every column,
// and the partitions it makes.
#include <algorithm>
#include <numeric>

#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using OrderByKey = GpuTest;
using PartitionOffsets = GpuTest;
using transform::KeyBits;
using transform::PreparedColumn;
using transform::PreparedKeys;
using transform::Transformed;

// Both techniques of CUB's radix sort order alike; a sort may begin above the lowest bit.
transform::Order radix_order(KeyBits bits) { return {plan::Transform::kRadixSort, bits, 1}; }

uint64_t digit_of(uint64_t key, KeyBits bits) {
  int32_t const width = bits.end - bits.begin;
  uint64_t const mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return key >> bits.begin & mask;
}

// The rows in the order that std::stable_sort gives them.
std::vector<uint32_t> expected_order(const std::vector<uint64_t>& keys, KeyBits bits) {
  std::vector<uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return digit_of(keys[a], bits) < digit_of(keys[b], bits);
  });
  return rows;
}

PreparedColumn as_prepared(const columns::DeviceColumn& column) {
  PreparedColumn prepared;
  prepared.data = column.data;
  prepared.width = column.width;
  return prepared;
}

std::vector<uint64_t> keys_of_width(size_t rows, int32_t width, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) {
    key = random();
    if (random() % 2 == 0) key &= 0x0f0f;  // some equal ones
    if (width == 4) key &= UINT32_MAX;
  }
  return keys;
}

void expect_order(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t key_width,
                  int32_t value_width, KeyBits bits) {
  SCOPED_TRACE(std::to_string(keys.size()) + " rows, key " + std::to_string(key_width) +
               ", value " + std::to_string(value_width) + ", bits " + std::to_string(bits.begin) +
               " to " + std::to_string(bits.end));
  HostColumn const host_keys = key_column(keys, key_width);
  HostColumn const host_values = random_column(keys.size(), value_width, keys.size());
  columns::DeviceColumn const key_column_ = place(queue, host_keys);
  columns::DeviceColumn const values = place(queue, host_values, value_width == 16 ? 8 : 0);
  PreparedKeys const prepared =
      transform::prepare_keys(queue, key_column_, static_cast<int64_t>(keys.size()), false);
  Transformed const ordered =
      transform::order_by_key(queue, prepared, as_prepared(values), radix_order(bits));
  std::vector<uint32_t> const order = expected_order(keys, bits);
  ASSERT_EQ(download<unsigned char>(queue, ordered.keys.data(), host_keys.data.size()),
            bytes_of_rows(host_keys, order));
  ASSERT_EQ(download<unsigned char>(queue, ordered.values.data(), host_values.data.size()),
            bytes_of_rows(host_values, order));
  // The input is read only: the next column is moved by the same keys.
  ASSERT_EQ(download<unsigned char>(queue, key_column_.data, host_keys.data.size()),
            host_keys.data);
}

TEST_F(OrderByKey, IsTheStableOrderOfTheBitsForEveryWidth) {
  for (size_t rows : edge_sizes()) {
    for (int32_t key_width : {4, 8}) {
      std::vector<uint64_t> const keys = keys_of_width(rows, key_width, rows + 1);
      for (int32_t value_width : {1, 2, 4, 8, 16}) {
        expect_order(queue(), keys, key_width, value_width, {0, 9});
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(OrderByKey, LooksAtNoOtherBits) {
  for (size_t rows : {size_t{33}, size_t{1025}, size_t{20000}}) {
    for (KeyBits bits :
         {KeyBits{0, 1}, KeyBits{0, 8}, KeyBits{0, 12}, KeyBits{3, 17}, KeyBits{31, 32},
          KeyBits{0, 32}, KeyBits{30, 34}, KeyBits{40, 63}, KeyBits{63, 64}, KeyBits{0, 64}}) {
      if (bits.end <= 32) {
        expect_order(queue(), keys_of_width(rows, 4, rows), 4, 4, bits);
      }
      expect_order(queue(), keys_of_width(rows, 8, rows), 8, 4, bits);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_F(OrderByKey, KeepsEqualKeysInTheirOrder) {
  for (size_t rows : edge_sizes()) {
    expect_order(queue(), std::vector<uint64_t>(rows, 0xabcd), 4, 4, {0, 16});
  }
}

TEST_F(OrderByKey, GivesTwoColumnsTheSamePermutation) {
  // Few distinct digits: an unstable order would differ somewhere.
  for (int32_t key_width : {4, 8}) {
    size_t const rows = 50000;
    HostColumn const host = random_column(rows, 2, 8);
    columns::DeviceColumn const keys =
        place(queue(), key_column(random_keys(rows, 5, 3, 1), key_width));
    columns::DeviceColumn const payload = place(queue(), host);
    PreparedKeys const prepared =
        transform::prepare_keys(queue(), keys, static_cast<int64_t>(rows), true);
    Transformed const ids = transform::order_by_key(
        queue(), prepared, transform::prepare_row_ids(queue(), prepared), radix_order({0, 6}));
    Transformed const values =
        transform::order_by_key(queue(), prepared, as_prepared(payload), radix_order({0, 6}));
    std::vector<uint32_t> const order = download<uint32_t>(queue(), ids.values.data(), rows);
    EXPECT_EQ(download<unsigned char>(queue(), values.values.data(), host.data.size()),
              bytes_of_rows(host, order));
    size_t const key_bytes = rows * static_cast<size_t>(key_width);
    EXPECT_EQ(download<unsigned char>(queue(), ids.keys.data(), key_bytes),
              download<unsigned char>(queue(), values.keys.data(), key_bytes));
  }
}

TEST_F(OrderByKey, OfNoRowsIsNothing) {
  PreparedKeys none;
  none.key_width = 8;
  PreparedColumn values;
  values.width = 16;
  Transformed const ordered = transform::order_by_key(queue(), none, values, radix_order({0, 8}));
  EXPECT_FALSE(ordered.keys);
  EXPECT_FALSE(ordered.values);
}

// Host keys in partition order and, counted apart, where each partition begins.
void expect_offsets(base::Queue& queue, std::vector<uint64_t> keys, int32_t key_width,
                    int32_t radix_bits) {
  SCOPED_TRACE(std::to_string(keys.size()) + " rows, key " + std::to_string(key_width) + ", " +
               std::to_string(radix_bits) + " bits");
  uint64_t const mask = (uint64_t{1} << radix_bits) - 1;
  std::vector<uint32_t> expected((size_t{1} << radix_bits) + 1, 0);
  for (uint64_t key : keys) ++expected[(key & mask) + 1];
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  std::stable_sort(keys.begin(), keys.end(),
                   [mask](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); });
  columns::DeviceColumn const column = place(queue, key_column(keys, key_width));
  base::Buffer const offsets = transform::partition_offsets(
      queue, column.data, key_width, static_cast<uint32_t>(keys.size()), radix_bits);
  ASSERT_EQ(offsets.bytes(), expected.size() * 4);
  ASSERT_EQ(download<uint32_t>(queue, offsets.data(), expected.size()), expected);
}

TEST_F(PartitionOffsets, AreWhereEachPartitionBegins) {
  for (int32_t radix_bits : {0, 1, 2, 5, 8, 11, 12, 16}) {
    for (size_t rows : {size_t{0}, size_t{1}, size_t{31}, size_t{33}, size_t{1025}, size_t{9999}}) {
      for (int32_t key_width : {4, 8}) {
        expect_offsets(queue(), keys_of_width(rows, key_width, rows + 5), key_width, radix_bits);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(PartitionOffsets, HoldOnePartitionWithEverything) {
  for (uint64_t digit : {uint64_t{0}, uint64_t{7}, uint64_t{255}}) {
    expect_offsets(queue(), std::vector<uint64_t>(5000, digit), 4, 8);
    expect_offsets(queue(), std::vector<uint64_t>(5000, digit | uint64_t{1} << 60), 8, 8);
  }
}

}  // namespace
}  // namespace gpujoin::tests
