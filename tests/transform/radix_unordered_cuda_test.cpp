// radix_unordered_cuda_test.cpp: partitions of whole rows: every row once, in its partition, all
// columns in one order.
#include "src/transform/radix_unordered.hpp"

#include <cuda_runtime_api.h>  // what mix_key.cuh is marked with

#include <cmath>

#include "kernels/packed_words.hpp"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"
#include "tests/transform/partition_cases.hpp"

namespace gpujoin::tests {
namespace {

using RadixUnordered = GpuTest;
using plan::Transform;
using transform::PreparedColumn;
using transform::UnorderedRows;

uint64_t mixed_key(uint64_t key, int32_t width) {
  return width == 8 ? kernels::mix_key(key) : kernels::mix_key(static_cast<uint32_t>(key));
}

std::vector<uint64_t> mixed_keys(std::vector<uint64_t> keys, int32_t width) {
  for (uint64_t& key : keys) key = mixed_key(key, width);
  return keys;
}

// Few keys have most of the rows, as of a Zipf factor of 1.
std::vector<uint64_t> zipf_keys(size_t rows, double distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = static_cast<uint64_t>(std::pow(distinct, uniform(random)));
  return keys;
}

PartitionWay way_of(int32_t bits, int32_t passes) {
  return {Transform::kRadixUnordered, bits, passes};
}

std::vector<PartitionWay> every_way() {
  std::vector<PartitionWay> ways;
  for (int32_t passes : {1, 2}) {
    plan::JoinPlan plan;
    plan.device = plan::Device::kCuda;
    plan.transform = Transform::kRadixUnordered;
    plan.match = plan::Match::kCoPartitions;
    plan.skew = plan::Skew::kWorkUnits;
    plan.passes = passes;
    for (plan.radix_bits = 1; plan.radix_bits <= 16; ++plan.radix_bits) {
      if (!plan::why_illegal(plan)) ways.push_back(way_of(plan.radix_bits, passes));
    }
  }
  return ways;
}

// Columns of the given widths, each so many values beyond an aligned address.
struct PlacedColumns {
  std::vector<HostColumn> hosts;
  std::vector<columns::DeviceColumn> device;
  std::vector<PreparedColumn> prepared;  // after row numbers

  PlacedColumns(base::Queue& queue, size_t rows, const std::vector<int32_t>& widths,
                int32_t values_beyond) {
    prepared.emplace_back();
    prepared.back().width = sizeof(uint32_t);
    for (size_t i = 0; i < widths.size(); ++i) {
      hosts.push_back(random_column(rows, widths[i], rows + i));
      device.push_back(place(queue, hosts.back(), static_cast<size_t>(values_beyond * widths[i])));
      prepared.emplace_back();
      prepared.back().data = device.back().data;
      prepared.back().width = widths[i];
    }
  }
};

void expect_rows(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t key_width,
                 const std::vector<int32_t>& widths, const PartitionWay& way,
                 int32_t values_beyond = 0) {
  SCOPED_TRACE(std::to_string(keys.size()) + " rows, key " + std::to_string(key_width) + ", " +
               std::to_string(widths.size()) + " columns, " + to_text(way));
  size_t const rows = keys.size();
  HostColumn const host_keys = key_column(keys, key_width);
  columns::DeviceColumn const device_keys =
      place(queue, host_keys, static_cast<size_t>(values_beyond * key_width));
  PlacedColumns const columns(queue, rows, widths, values_beyond);
  transform::PreparedKeys prepared;
  prepared.rows = static_cast<uint32_t>(rows);
  prepared.key_width = key_width;
  prepared.keys = device_keys.data;
  UnorderedRows const moved =
      transform::radix_unordered(queue, prepared, columns.prepared, way.order());

  std::vector<uint64_t> const mixed = mixed_keys(keys, key_width);
  std::vector<uint32_t> const offsets = offsets_of(mixed, way.bits);
  ASSERT_EQ(moved.offsets.bytes(), offsets.size() * sizeof(uint32_t));
  ASSERT_TRUE(download<uint32_t>(queue, moved.offsets.data(), offsets.size()) == offsets)
      << "offsets are not what the host counts";
  ASSERT_EQ(moved.columns.size(), widths.size() + 1);
  std::vector<uint64_t> const moved_keys = download_keys(queue, moved.keys.data(), key_width, rows);
  std::vector<uint32_t> const order = download<uint32_t>(queue, moved.columns.front().data(), rows);
  expect_every_row_once(mixed, key_width, moved_keys, order);
  if (::testing::Test::HasFatalFailure()) return;
  uint64_t const mask = (uint64_t{1} << way.bits) - 1;
  for (size_t p = 0; p + 1 < offsets.size(); ++p) {
    for (uint32_t at = offsets[p]; at < offsets[p + 1]; ++at) {
      ASSERT_EQ(moved_keys[at] & mask, p) << "at " << at;
    }
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    HostColumn const& host = columns.hosts[i];
    ASSERT_TRUE(download<unsigned char>(queue, moved.columns[i + 1].data(), host.data.size()) ==
                bytes_of_rows(host, order))
        << "column " << i << " of width " << host.width << " did not follow its key";
  }
  // What is moved is read only.
  ASSERT_TRUE(download<unsigned char>(queue, device_keys.data, host_keys.data.size()) ==
              host_keys.data);
}

TEST_F(RadixUnordered, BringsEveryRowToItsPartitionWithAnyBitsAndPasses) {
  ASSERT_EQ(every_way().size(), 11U + 15U);
  for (PartitionWay const& way : every_way()) {
    for (int32_t key_width : {4, 8}) {
      for (size_t rows : {size_t{3001}, size_t{70001}}) {
        expect_rows(queue(), any_keys(rows, 1), key_width, {}, way);
        expect_rows(queue(), any_keys(rows, 2), key_width, {4}, way);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(RadixUnordered, MovesColumnsOfEveryWidthTogether) {
  for (PartitionWay const& way :
       {way_of(1, 1), way_of(8, 1), way_of(11, 1), way_of(9, 2), way_of(12, 2), way_of(16, 2)}) {
    for (int32_t key_width : {4, 8}) {
      std::vector<uint64_t> const keys = any_keys(100003, 3);
      for (std::vector<int32_t> const& widths : std::vector<std::vector<int32_t>>{
               {1}, {2}, {8}, {16}, {1, 2, 4}, {8, 1, 8}, {1, 2, 4, 8, 16}, {16, 8, 4, 2, 1}}) {
        expect_rows(queue(), keys, key_width, widths, way);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Words of columns of such widths, each so many values beyond an aligned address, between row
// numbers and a column of `last` bytes.
void expect_words(base::Queue& queue, size_t rows, int32_t key_width,
                  const std::vector<int32_t>& widths, int32_t last, const PartitionWay& way,
                  int32_t values_beyond) {
  SCOPED_TRACE(std::to_string(rows) + " rows, key " + std::to_string(key_width) + ", " +
               std::to_string(widths.size()) + " parts, " + to_text(way));
  PlacedKeys const keys(queue, any_keys(rows, rows), key_width);
  std::vector<int32_t> all = widths;
  all.push_back(last);
  PlacedColumns columns(queue, rows, all, values_beyond);
  std::vector<PreparedColumn> moving(3);
  moving[0].width = sizeof(uint32_t);
  moving[1].width = kernels::kWordBytes;
  for (size_t i = 0; i < widths.size(); ++i) {
    moving[1].parts.push_back(std::move(columns.prepared[i + 1]));
  }
  moving[2] = std::move(columns.prepared.back());
  UnorderedRows const moved = transform::radix_unordered(queue, keys.prepared, moving, way.order());
  auto const order = download<uint32_t>(queue, moved.columns[0].data(), rows);
  auto const words = download<uint32_t>(queue, moved.columns[1].data(), rows);
  int32_t shift = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    std::vector<unsigned char> column;
    for (uint32_t const word : words) {
      for (int32_t byte = 0; byte < widths[i]; ++byte) {
        column.push_back(static_cast<unsigned char>(word >> (shift + 8 * byte)));
      }
    }
    ASSERT_TRUE(column == bytes_of_rows(columns.hosts[i], order)) << "part " << i;
    shift += 8 * widths[i];
  }
  HostColumn const& host = columns.hosts.back();
  ASSERT_TRUE(download<unsigned char>(queue, moved.columns[2].data(), host.data.size()) ==
              bytes_of_rows(host, order));
}

TEST_F(RadixUnordered, MovesNarrowColumnsAsWords) {
  for (PartitionWay const& way : {way_of(1, 1), way_of(8, 1), way_of(11, 1), way_of(12, 2)}) {
    for (std::vector<int32_t> const& widths :
         {std::vector<int32_t>{1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {2, 1}, {2, 2}, {2, 1, 1}}) {
      for (int32_t const last : {4, 8, 16}) {
        for (int32_t const key_width : {4, 8}) {
          for (size_t const rows : {size_t{1}, size_t{4099}, size_t{60013}}) {
            expect_words(queue(), rows, key_width, widths, last, way, 0);
            expect_words(queue(), rows, key_width, widths, last, way, 3);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(RadixUnordered, MovesAsManyColumnsAsThereMayBe) {
  std::vector<int32_t> widths;
  for (int32_t i = 1; i < kernels::kMovedColumns; ++i) widths.push_back(1 << i % 5);
  for (PartitionWay const& way : {way_of(7, 1), way_of(13, 2)}) {
    expect_rows(queue(), any_keys(40000, 4), 4, widths, way);
    expect_rows(queue(), any_keys(40000, 5), 8, std::vector<int32_t>(widths.size(), 4), way);
    if (HasFatalFailure()) return;
  }
  widths.push_back(4);
  PlacedKeys const keys(queue(), any_keys(100, 1), 4);
  PlacedColumns const columns(queue(), 100, widths, 0);
  EXPECT_EQ(status_of([&] {
              transform::radix_unordered(queue(), keys.prepared, columns.prepared,
                                         way_of(4, 1).order());
            }),
            GPUJOIN_ERROR_INTERNAL);
}

// Tiles have 8192 rows, 4096 where a value has 8 bytes, 2048 where one has 16.
TEST_F(RadixUnordered, HasNoTroubleAtTheEdgesOfTiles) {
  std::vector<size_t> sizes = edge_sizes();
  for (size_t tile : {4096, 8192, 16384}) {
    for (size_t rows : {tile - 1, tile, tile + 1}) sizes.push_back(rows);
  }
  for (size_t rows : sizes) {
    for (PartitionWay const& way : {way_of(5, 1), way_of(10, 2)}) {
      for (std::vector<int32_t> const& widths : {std::vector<int32_t>{4}, {8}, {16, 1}}) {
        expect_rows(queue(), any_keys(rows, rows), 4, widths, way);
        expect_rows(queue(), any_keys(rows, rows), 8, widths, way);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(RadixUnordered, ReadsColumnsThatAreNotAlignedToVectors) {
  for (PartitionWay const& way : {way_of(6, 1), way_of(11, 2)}) {
    for (int32_t key_width : {4, 8}) {
      for (int32_t beyond : {1, 3}) {
        expect_rows(queue(), any_keys(20011, 6), key_width, {1, 2, 4, 8}, way, beyond);
        if (HasFatalFailure()) return;
      }
    }
  }
  // Values of 16 bytes may lie at multiples of 8.
  std::vector<uint64_t> const keys = any_keys(10007, 7);
  PlacedKeys const placed(queue(), keys, 4);
  HostColumn const host = random_column(keys.size(), 16, 8);
  columns::DeviceColumn const values = place(queue(), host, 8);
  for (PartitionWay const& way : {way_of(6, 1), way_of(11, 2)}) {
    PreparedColumn columns[2];
    columns[0].width = sizeof(uint32_t);
    columns[1].width = 16;
    columns[1].data = values.data;
    UnorderedRows const moved =
        transform::radix_unordered(queue(), placed.prepared, columns, way.order());
    std::vector<uint32_t> const order =
        download<uint32_t>(queue(), moved.columns[0].data(), keys.size());
    EXPECT_TRUE(download<unsigned char>(queue(), moved.columns[1].data(), host.data.size()) ==
                bytes_of_rows(host, order));
  }
}

TEST_F(RadixUnordered, TakesKeysThatAreHeavy) {
  for (PartitionWay const& way :
       {way_of(1, 1), way_of(9, 1), way_of(11, 1), way_of(2, 2), way_of(15, 2), way_of(16, 2)}) {
    for (int32_t key_width : {4, 8}) {
      for (uint64_t key : {uint64_t{0}, uint64_t{0xdeadbeefcafe}, UINT64_MAX}) {
        expect_rows(queue(), std::vector<uint64_t>(300000, key), key_width, {4}, way);
      }
      expect_rows(queue(), zipf_keys(300000, 1e5, 9), key_width, {8, 2}, way);
      if (HasFatalFailure()) return;
    }
  }
}

// A counter of 16 bits hands 0x8000 rows on; so many equal keys that each of the blocks which count
// does, and that both counters of a word do.
TEST_F(RadixUnordered, CountsMoreRowsOfAPartitionThanItsCountersHold) {
  auto const rows = static_cast<size_t>(queue().context.facts.sm_count) * 2 * 0x8000 / 10 * 11;
  std::vector<uint64_t> keys(rows, 12345);
  expect_rows(queue(), keys, 4, {}, way_of(3, 1));
  for (size_t row = 0; row < rows; ++row) {
    keys[row] = kernels::unmix_key(static_cast<uint32_t>(6 + row % 2));
  }
  expect_rows(queue(), keys, 4, {}, way_of(16, 2));
}

TEST_F(RadixUnordered, AnswersAsEveryPartitioningDoes) {
  for (PartitionKeys const& input : partition_keys()) {
    for (PartitionWay const& way : ways_of(Transform::kRadixUnordered)) {
      for (int32_t key_width : {4, 8}) {
        SCOPED_TRACE(input.name + ", key " + std::to_string(key_width) + ", " + to_text(way));
        PlacedKeys const placed(queue(), input.keys, key_width);
        transform::Transformed const ordered = transform::order_by_key(
            queue(), placed.prepared,
            transform::row_ids_to_order(queue(), placed.prepared, way.order()), way.order());
        EXPECT_FALSE(ordered.buckets);
        size_t const rows = input.keys.size();
        std::vector<uint64_t> const mixed = mixed_keys(input.keys, key_width);
        std::vector<uint64_t> const keys =
            download_keys(queue(), ordered.keys.data(), key_width, rows);
        expect_every_row_once(mixed, key_width, keys,
                              download<uint32_t>(queue(), ordered.values.data(), rows));
        if (HasFatalFailure()) return;
        // Found in the keys, offsets are those that were counted.
        std::vector<uint32_t> const offsets = offsets_of(mixed, way.bits);
        base::Buffer const found = transform::partition_offsets(
            queue(), ordered.keys.data(), key_width, static_cast<uint32_t>(rows), way.bits);
        ASSERT_TRUE(download<uint32_t>(queue(), found.data(), offsets.size()) == offsets);
        ASSERT_TRUE(download<uint32_t>(queue(), ordered.offsets.data(), offsets.size()) == offsets);
      }
    }
  }
}

// Row numbers that the keys were given, where NULLs were left out, are a column like any other.
TEST_F(RadixUnordered, KeepsTheRowNumbersOfKeysThatWereLeftOut) {
  std::vector<uint64_t> const keys = any_keys(9999, 10);
  HostColumn host = key_column(keys, 4);
  set_valid(&host, random_valid(keys.size(), 0.3, 11), 3);
  columns::DeviceColumn const column = place(queue(), host);
  transform::PreparedKeys const prepared =
      transform::prepare_keys(queue(), column, static_cast<int64_t>(keys.size()), false);
  ASSERT_NE(prepared.source_rows, nullptr);
  transform::Order const order = way_of(8, 1).order();
  transform::Transformed const ordered = transform::order_by_key(
      queue(), prepared, transform::row_ids_to_order(queue(), prepared, order), order);
  std::vector<uint64_t> const moved = download_keys(queue(), ordered.keys.data(), 4, prepared.rows);
  std::vector<uint32_t> const rows =
      download<uint32_t>(queue(), ordered.values.data(), prepared.rows);
  size_t valid = 0;
  for (unsigned char each : host.valid) valid += each;
  ASSERT_EQ(prepared.rows, valid);
  std::vector<bool> seen(keys.size());
  for (size_t at = 0; at < rows.size(); ++at) {
    ASSERT_LT(rows[at], keys.size());
    ASSERT_NE(host.valid[rows[at]], 0);
    ASSERT_FALSE(seen[rows[at]]);
    seen[rows[at]] = true;
    ASSERT_EQ(moved[at], mixed_key(keys[rows[at]], 4));
  }
}

TEST_F(RadixUnordered, EndsWithMemoryLimitAndReturnsEverything) {
  expect_memory_limits(way_of(6, 1));
  expect_memory_limits(way_of(10, 2));
}

TEST_F(RadixUnordered, EndsWithMemoryLimitWhicheverColumnHasNoRoom) {
  int done = 0;
  int refused = 0;
  for (int32_t passes : {1, 2}) {
    for (uint64_t limit = 2 << 20; limit <= 40 << 20; limit += 1 << 20) {
      auto const limited = limited_queue(limit);
      {
        PlacedKeys const keys(*limited, any_keys(60000, 1), 8);
        PlacedColumns const columns(*limited, 60000, {1, 2, 4, 8}, 0);
        uint64_t const in_use = limited->device_pool->in_use_bytes();
        gpujoin_status const status = status_of([&] {
          transform::radix_unordered(*limited, keys.prepared, columns.prepared,
                                     way_of(10, passes).order());
        });
        EXPECT_TRUE(status == GPUJOIN_OK || status == GPUJOIN_ERROR_MEMORY_LIMIT) << status;
        (status == GPUJOIN_OK ? done : refused) += 1;
        EXPECT_EQ(limited->device_pool->in_use_bytes(), in_use) << limit;
      }
      base::finish(*limited);
    }
  }
  EXPECT_GE(done, 2);
  EXPECT_GE(refused, 2);
}

}  // namespace
}  // namespace gpujoin::tests
