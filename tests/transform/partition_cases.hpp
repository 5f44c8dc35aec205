// partition_cases.hpp: what the tests of the partitionings share: key columns that have found
// mistakes, ways to partition, and what may be said about any of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

struct PartitionKeys {
  std::string name;
  std::vector<uint64_t> keys;
};

inline std::vector<uint64_t> any_keys(size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = random();
  return keys;
}

// Keys that are mixed already, of 8 bytes; the upper half is cut off for 4.
inline std::vector<PartitionKeys> partition_keys() {
  std::vector<PartitionKeys> cases;
  // Edges of warps and of the tiles of each technique (2048, 8192), and several tiles.
  for (size_t rows :
       {1, 31, 32, 33, 255, 1025, 2047, 2048, 2049, 8191, 8192, 8193, 16385, 100003}) {
    cases.push_back({"random_" + std::to_string(rows), any_keys(rows, rows)});
  }
  for (size_t rows : {33, 8193, 70001}) {
    cases.push_back(
        {"equal_" + std::to_string(rows), std::vector<uint64_t>(rows, 0xdeadbeefcafeULL)});
    cases.push_back({"zero_" + std::to_string(rows), std::vector<uint64_t>(rows, 0)});
    cases.push_back({"ones_" + std::to_string(rows), std::vector<uint64_t>(rows, UINT64_MAX)});
  }
  std::vector<uint64_t> heavy = any_keys(150000, 7);
  for (size_t row = 0; row < heavy.size(); ++row) {
    if (row % 3 != 0) heavy[row] = 0x12345;
  }
  cases.push_back({"one_heavy_key", heavy});
  std::vector<uint64_t> ascending(50000);
  std::iota(ascending.begin(), ascending.end(), uint64_t{0});
  cases.push_back({"ascending", ascending});
  std::vector<uint64_t> few = any_keys(40001, 9);
  for (uint64_t& key : few) key = key % 5 * 0x0101;
  cases.push_back({"five_keys", few});
  return cases;
}

struct PartitionWay {
  plan::Transform technique;
  int32_t bits;
  int32_t passes;
  transform::Order order() const { return {technique, {0, bits}, passes}; }
};

inline std::string to_text(const PartitionWay& way) {
  return std::string(plan::to_text(way.technique)) + "(" + std::to_string(way.bits) + ") in " +
         std::to_string(way.passes) + (way.passes == 1 ? " pass" : " passes");
}

// The fewest and the most bits of each pass, and some between.
inline std::vector<PartitionWay> ways_of(plan::Transform technique) {
  int32_t const most = plan::most_bits_per_pass(technique);
  std::vector<PartitionWay> ways;
  for (int32_t bits : {1, 5, most}) ways.push_back({technique, bits, 1});
  for (int32_t bits : {2, 9, 15, 16}) ways.push_back({technique, bits, 2});
  return ways;
}

// Keys of a width as the transform takes them. Owns the column.
struct PlacedKeys {
  columns::DeviceColumn column;
  transform::PreparedKeys prepared;

  PlacedKeys(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t width)
      : column(place(queue, key_column(keys, width))) {
    prepared.rows = static_cast<uint32_t>(keys.size());
    prepared.key_width = width;
    prepared.mixed = true;
    prepared.keys = column.data;
  }
};

inline std::vector<uint64_t> download_keys(base::Queue& queue, const void* keys, int32_t width,
                                           size_t rows) {
  if (width == 8) return download<uint64_t>(queue, keys, rows);
  std::vector<uint32_t> const narrow = download<uint32_t>(queue, keys, rows);
  return {narrow.begin(), narrow.end()};
}

inline uint64_t cut_to_width(uint64_t key, int32_t width) {
  return width == 4 ? static_cast<uint32_t>(key) : key;
}

// Each row went along with its key, once.
inline void expect_every_row_once(const std::vector<uint64_t>& keys, int32_t width,
                                  const std::vector<uint64_t>& moved_keys,
                                  const std::vector<uint32_t>& moved_rows) {
  ASSERT_EQ(moved_keys.size(), keys.size());
  ASSERT_EQ(moved_rows.size(), keys.size());
  std::vector<bool> seen(keys.size());
  for (size_t at = 0; at < keys.size(); ++at) {
    uint32_t const row = moved_rows[at];
    ASSERT_LT(row, keys.size()) << "at " << at;
    ASSERT_FALSE(seen[row]) << "row " << row << " twice";
    seen[row] = true;
    ASSERT_EQ(moved_keys[at], cut_to_width(keys[row], width)) << "row " << row << " at " << at;
  }
}

// With less and less memory: done, or MEMORY_LIMIT with nothing left in use.
inline void expect_memory_limits(const PartitionWay& way) {
  SCOPED_TRACE(to_text(way));
  std::vector<uint64_t> const keys = any_keys(200000, 1);
  int refused = 0;
  for (uint64_t limit : {40U << 20, 6U << 20, 4U << 20, 3U << 20, 5U << 19}) {
    auto const limited = limited_queue(limit);
    {
      PlacedKeys const placed(*limited, keys, 4);
      transform::PreparedColumn const rows = transform::prepare_row_ids(*limited, placed.prepared);
      uint64_t const in_use = limited->device_pool->in_use_bytes();
      gpujoin_status const status =
          status_of([&] { transform::order_by_key(*limited, placed.prepared, rows, way.order()); });
      if (status != GPUJOIN_OK) {
        EXPECT_EQ(status, GPUJOIN_ERROR_MEMORY_LIMIT) << limit;
        ++refused;
      }
      EXPECT_EQ(limited->device_pool->in_use_bytes(), in_use) << limit;
    }
    base::finish(*limited);
  }
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 4);
}

}  // namespace gpujoin::tests
