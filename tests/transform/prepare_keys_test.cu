// prepare_keys_test.cu: NULL keys go, the others stay in order, mixing loses nothing.
#include <algorithm>
#include <set>

#include "kernels/transform/mix_key.cuh"
#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using PrepareKeys = GpuTest;
using transform::prepare_keys;
using transform::PreparedKeys;

constexpr uint64_t kStrides[] = {1, 0x100000001ULL};

HostColumn some_keys(size_t rows, int32_t width, uint64_t seed) {
  return key_column(random_keys(rows, rows / 2 + 1, kStrides[width == 8 ? 1 : 0], seed), width);
}

std::vector<uint32_t> valid_rows(const HostColumn& column, size_t rows) {
  std::vector<uint32_t> found;
  for (size_t row = 0; row < rows; ++row) {
    if (column.is_valid(row)) found.push_back(static_cast<uint32_t>(row));
  }
  return found;
}

std::vector<unsigned char> keys_of(base::Queue& queue, const PreparedKeys& prepared) {
  return download<unsigned char>(queue, prepared.keys,
                                 prepared.rows * static_cast<size_t>(prepared.key_width));
}

template <typename Key>
std::vector<Key> as_keys(const std::vector<unsigned char>& bytes) {
  std::vector<Key> keys(bytes.size() / sizeof(Key));
  if (!keys.empty()) std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

// The bytes of mixed keys, unmixed.
std::vector<unsigned char> unmixed(std::vector<unsigned char> bytes, int32_t width) {
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(width)) {
    if (width == 4) {
      uint32_t key = 0;
      std::memcpy(&key, &bytes[at], 4);
      key = kernels::unmix_key(key);
      std::memcpy(&bytes[at], &key, 4);
    } else {
      uint64_t key = 0;
      std::memcpy(&key, &bytes[at], 8);
      key = kernels::unmix_key(key);
      std::memcpy(&bytes[at], &key, 8);
    }
  }
  return bytes;
}

TEST_F(PrepareKeys, KeysWithoutValidityAreReadWhereTheyLie) {
  for (int32_t width : {4, 8}) {
    HostColumn const host = some_keys(1000, width, 1);
    columns::DeviceColumn const column = place(queue(), host);
    uint64_t const in_use = pool().in_use_bytes();
    PreparedKeys const prepared = prepare_keys(queue(), column, 1000, false);
    EXPECT_EQ(prepared.rows, 1000U);
    EXPECT_EQ(prepared.key_width, width);
    EXPECT_FALSE(prepared.mixed);
    EXPECT_EQ(prepared.keys, column.data);
    EXPECT_EQ(prepared.source_rows, nullptr);
    EXPECT_EQ(pool().in_use_bytes(), in_use);
  }
}

TEST_F(PrepareKeys, NullKeysAreDroppedAndTheOthersKeepTheirOrder) {
  for (int32_t width : {4, 8}) {
    for (bool mixed : {false, true}) {
      for (size_t rows : edge_sizes()) {
        for (double nulls : {0.05, 0.5, 0.95}) {
          auto const offset = static_cast<int64_t>(rows % 11);
          SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width) +
                       (mixed ? ", mixed" : "") + ", nulls " + std::to_string(nulls));
          HostColumn host = some_keys(rows, width, rows + 3);
          set_valid(&host, random_valid(rows, nulls, rows), offset);
          columns::DeviceColumn const column = place(queue(), host);
          PreparedKeys const prepared =
              prepare_keys(queue(), column, static_cast<int64_t>(rows), mixed);
          std::vector<uint32_t> const expected = valid_rows(host, rows);
          ASSERT_EQ(prepared.rows, expected.size());
          EXPECT_EQ(prepared.mixed, mixed);
          if (expected.size() != rows) {
            ASSERT_NE(prepared.source_rows, nullptr);
            EXPECT_EQ(download<uint32_t>(queue(), prepared.source_rows, prepared.rows), expected);
          }
          std::vector<unsigned char> keys = keys_of(queue(), prepared);
          if (mixed) keys = unmixed(std::move(keys), width);
          EXPECT_EQ(keys, bytes_of_rows(host, expected));
        }
      }
    }
  }
}

TEST_F(PrepareKeys, ABitmapWithoutNullsIsTheIdentity) {
  for (size_t rows : edge_sizes()) {
    if (rows == 0) continue;
    SCOPED_TRACE(rows);
    HostColumn host = some_keys(rows, 4, rows);
    set_valid(&host, std::vector<unsigned char>(rows, 1), 3);
    columns::DeviceColumn const column = place(queue(), host);
    PreparedKeys const prepared = prepare_keys(queue(), column, static_cast<int64_t>(rows), false);
    EXPECT_EQ(prepared.rows, rows);
    EXPECT_EQ(prepared.source_rows, nullptr);
    EXPECT_EQ(prepared.keys, column.data);
  }
}

TEST_F(PrepareKeys, OnlyNullKeysLeaveNoRows) {
  for (bool mixed : {false, true}) {
    for (size_t rows : {size_t{1}, size_t{32}, size_t{1025}, size_t{5000}}) {
      HostColumn host = some_keys(rows, 8, rows);
      set_valid(&host, std::vector<unsigned char>(rows, 0), 5);
      columns::DeviceColumn const column = place(queue(), host);
      PreparedKeys const prepared =
          prepare_keys(queue(), column, static_cast<int64_t>(rows), mixed);
      EXPECT_EQ(prepared.rows, 0U);
      EXPECT_NE(prepared.source_rows, nullptr) << "no rows are not the identity";
    }
  }
}

TEST_F(PrepareKeys, MixingIsTheSameOnBothSidesOfTheBus) {
  for (size_t rows : edge_sizes()) {
    HostColumn const narrow = some_keys(rows, 4, rows);
    HostColumn const wide = some_keys(rows, 8, rows);
    columns::DeviceColumn const narrow_column = place(queue(), narrow);
    columns::DeviceColumn const wide_column = place(queue(), wide);
    auto const count = static_cast<int64_t>(rows);
    PreparedKeys const narrow_keys = prepare_keys(queue(), narrow_column, count, true);
    PreparedKeys const wide_keys = prepare_keys(queue(), wide_column, count, true);
    std::vector<uint32_t> narrow_expected = as_keys<uint32_t>(narrow.data);
    for (uint32_t& key : narrow_expected) key = kernels::mix_key(key);
    std::vector<uint64_t> wide_expected = as_keys<uint64_t>(wide.data);
    for (uint64_t& key : wide_expected) key = kernels::mix_key(key);
    EXPECT_EQ(as_keys<uint32_t>(keys_of(queue(), narrow_keys)), narrow_expected);
    EXPECT_EQ(as_keys<uint64_t>(keys_of(queue(), wide_keys)), wide_expected);
    // The caller's column is read only.
    EXPECT_EQ(download<unsigned char>(queue(), narrow_column.data, narrow.data.size()),
              narrow.data);
  }
}

// Needs no device: the function is the same one.
template <typename Key>
void expect_bijection_and_spread(uint64_t stride) {
  constexpr uint32_t kKeys = 1 << 16;
  constexpr uint32_t kPartitions = 1 << 6;
  std::set<Key> mixed;
  std::vector<uint32_t> sizes(kPartitions, 0);
  uint32_t distinct = 0;
  std::set<Key> keys;
  for (uint64_t i = 0; i < kKeys; ++i) {
    auto const key = static_cast<Key>(i * stride);
    distinct += keys.insert(key).second ? 1 : 0;
    Key const image = kernels::mix_key(key);
    mixed.insert(image);
    ++sizes[image & (kPartitions - 1)];
    ASSERT_EQ(kernels::unmix_key(image), key);
  }
  EXPECT_EQ(mixed.size(), distinct);
  // 1024 a partition were they random, 6 standard deviations either way.
  EXPECT_GT(*std::min_element(sizes.begin(), sizes.end()), 832U) << "stride " << stride;
  EXPECT_LT(*std::max_element(sizes.begin(), sizes.end()), 1216U) << "stride " << stride;
}

TEST(MixKey, IsABijectionThatFillsAllPartitions) {
  for (uint64_t stride : {1, 3, 64, 4096, 1 << 16}) expect_bijection_and_spread<uint32_t>(stride);
  for (uint64_t shift : {0, 6, 16, 32, 44, 48}) {
    expect_bijection_and_spread<uint64_t>(uint64_t{1} << shift);
  }
}

}  // namespace
}  // namespace gpujoin::tests
