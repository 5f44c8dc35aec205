// histogram_partition_cuda_test.cpp: partitions by a histogram for each thread, warp or block, in
// one pass and in two.
#include "tests/transform/partition_cases.hpp"

namespace gpujoin::tests {
namespace {

using HistogramPartition = GpuTest;
using plan::Transform;
using transform::PreparedColumn;
using transform::Transformed;

constexpr Transform kAll[] = {Transform::kHistogramThread, Transform::kHistogramWarp,
                              Transform::kHistogramBlock};
constexpr Transform kInOneOrder[] = {Transform::kHistogramThread, Transform::kHistogramWarp};

PreparedColumn as_prepared(const columns::DeviceColumn& column) {
  PreparedColumn prepared;
  prepared.data = column.data;
  prepared.width = column.width;
  return prepared;
}

std::vector<uint32_t> rows_in_order(base::Queue& queue, const PlacedKeys& keys,
                                    const PartitionWay& way) {
  Transformed const ordered = transform::order_by_key(
      queue, keys.prepared, transform::prepare_row_ids(queue, keys.prepared), way.order());
  return download<uint32_t>(queue, ordered.values.data(), keys.prepared.rows);
}

void expect_partitions(base::Queue& queue, const PartitionKeys& input, int32_t key_width,
                       const PartitionWay& way) {
  SCOPED_TRACE(input.name + ", key " + std::to_string(key_width) + ", " + to_text(way));
  PlacedKeys const placed(queue, input.keys, key_width);
  Transformed const ordered = transform::order_by_key(
      queue, placed.prepared, transform::prepare_row_ids(queue, placed.prepared), way.order());
  EXPECT_FALSE(ordered.buckets);
  size_t const rows = input.keys.size();
  std::vector<uint64_t> const keys = download_keys(queue, ordered.keys.data(), key_width, rows);
  std::vector<uint32_t> const ids = download<uint32_t>(queue, ordered.values.data(), rows);
  expect_every_row_once(input.keys, key_width, keys, ids);
  if (::testing::Test::HasFatalFailure()) return;
  uint64_t const mask = (uint64_t{1} << way.bits) - 1;
  ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end(),
                             [mask](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); }));
  // The input is read only: the next column is moved by the same keys.
  ASSERT_EQ(download_keys(queue, placed.column.data, key_width, rows)[rows - 1],
            cut_to_width(input.keys[rows - 1], key_width));
}

TEST_F(HistogramPartition, BringsThePartitionsTogetherInAscendingOrder) {
  for (PartitionKeys const& input : partition_keys()) {
    for (Transform technique : kAll) {
      for (PartitionWay const& way : ways_of(technique)) {
        for (int32_t key_width : {4, 8}) {
          expect_partitions(queue(), input, key_width, way);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(HistogramPartition, OfOnePartitionIsACopy) {
  for (Transform technique : kAll) {
    expect_partitions(queue(), {"random", any_keys(9999, 3)}, 4, {technique, 0, 1});
  }
}

TEST_F(HistogramPartition, OfNoRowsIsNothing) {
  for (Transform technique : kAll) {
    transform::PreparedKeys none;
    none.key_width = 8;
    PreparedColumn values;
    values.width = 4;
    Transformed const ordered =
        transform::order_by_key(queue(), none, values, {technique, {0, 12}, 2});
    EXPECT_FALSE(ordered.keys);
    EXPECT_FALSE(ordered.values);
  }
}

// What gather=transformed rests on: a second column of any width finds the places of the first.
TEST_F(HistogramPartition, OfThreadsAndWarpsPutsEveryColumnInTheSameOrder) {
  for (PartitionKeys const& input : partition_keys()) {
    std::vector<HostColumn> payloads;
    for (int32_t width : {1, 2, 8, 16}) {
      payloads.push_back(random_column(input.keys.size(), width, 3));
    }
    for (Transform technique : kInOneOrder) {
      for (PartitionWay const& way : ways_of(technique)) {
        for (int32_t key_width : {4, 8}) {
          SCOPED_TRACE(input.name + ", key " + std::to_string(key_width) + ", " + to_text(way));
          PlacedKeys const placed(queue(), input.keys, key_width);
          std::vector<uint32_t> const order = rows_in_order(queue(), placed, way);
          ASSERT_EQ(rows_in_order(queue(), placed, way), order);
          for (int32_t value_width : {1, 2, 8, 16}) {
            HostColumn const host = random_column(input.keys.size(), value_width, 3);
            columns::DeviceColumn const values = place(queue(), host, value_width == 16 ? 8 : 0);
            Transformed const moved =
                transform::order_by_key(queue(), placed.prepared, as_prepared(values), way.order());
            ASSERT_EQ(download<unsigned char>(queue(), moved.values.data(), host.data.size()),
                      bytes_of_rows(host, order))
                << "value " << host.width;
          }
        }
      }
    }
  }
}

TEST_F(HistogramPartition, OfWarpsKeepsTheOrderOfTheInput) {
  for (PartitionKeys const& input : partition_keys()) {
    for (PartitionWay const& way : ways_of(Transform::kHistogramWarp)) {
      SCOPED_TRACE(input.name + ", " + to_text(way));
      std::vector<uint32_t> expected(input.keys.size());
      std::iota(expected.begin(), expected.end(), 0U);
      uint64_t const mask = (uint64_t{1} << way.bits) - 1;
      std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
        return (input.keys[a] & mask) < (input.keys[b] & mask);
      });
      PlacedKeys const placed(queue(), input.keys, 4);
      ASSERT_EQ(rows_in_order(queue(), placed, way), expected);
    }
  }
}

TEST_F(HistogramPartition, OfBlocksRefusesPayloads) {
  PlacedKeys const placed(queue(), any_keys(100, 1), 4);
  columns::DeviceColumn const values = place(queue(), random_column(100, 8, 1));
  EXPECT_EQ(status_of([&] {
              transform::order_by_key(queue(), placed.prepared, as_prepared(values),
                                      {Transform::kHistogramBlock, {0, 4}, 1});
            }),
            GPUJOIN_ERROR_INTERNAL);
}

TEST_F(HistogramPartition, EndsWithMemoryLimitAndReturnsEverything) {
  for (Transform technique : kAll) {
    expect_memory_limits({technique, 6, 1});
    expect_memory_limits({technique, 10, 2});
  }
}

}  // namespace
}  // namespace gpujoin::tests
