// bucket_chains_cuda_test.cpp: partitions in chains of buckets, in one pass and in two.
#include "tests/transform/partition_cases.hpp"

namespace gpujoin::tests {
namespace {

using BucketChains = GpuTest;
using plan::Transform;
using transform::PreparedColumn;
using transform::Transformed;

// Keys and row numbers in the order of partitions, read as kernels/match/partition_view.hpp says.
struct Unchained {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> rows;
};

void unchain(base::Queue& queue, const Transformed& chains, int32_t key_width, int32_t bits,
             const std::vector<uint32_t>& offsets, Unchained* result) {
  size_t const partitions = size_t{1} << bits;
  size_t const bucket_rows = size_t{1} << chains.bucket_bits;
  ASSERT_EQ(download<uint32_t>(queue, chains.offsets.data(), partitions + 1), offsets);
  auto const bucket_offsets =
      download<uint32_t>(queue, chains.bucket_offsets.data(), partitions + 1);
  ASSERT_EQ(bucket_offsets[0], 0U);
  auto const buckets = download<uint32_t>(queue, chains.buckets.data(), bucket_offsets.back());
  size_t const places = chains.values.bytes() / sizeof(uint32_t);
  auto const keys = download_keys(queue, chains.keys.data(), key_width, places);
  auto const rows = download<uint32_t>(queue, chains.values.data(), places);
  std::vector<bool> taken(places / bucket_rows);
  for (uint32_t bucket : buckets) {
    ASSERT_LT(bucket, taken.size());
    ASSERT_FALSE(taken[bucket]) << "bucket " << bucket << " is in two lists";
    taken[bucket] = true;
  }
  for (size_t partition = 0; partition < partitions; ++partition) {
    size_t const in_partition = offsets[partition + 1] - offsets[partition];
    ASSERT_EQ(bucket_offsets[partition + 1] - bucket_offsets[partition],
              (in_partition + bucket_rows - 1) / bucket_rows)
        << "partition " << partition;
    for (size_t i = 0; i < in_partition; ++i) {
      size_t const bucket = buckets[bucket_offsets[partition] + i / bucket_rows];
      size_t const place = bucket * bucket_rows + i % bucket_rows;
      ASSERT_EQ(keys[place] & (partitions - 1), partition) << "row " << i << " at " << place;
      result->keys.push_back(keys[place]);
      result->rows.push_back(rows[place]);
    }
  }
}

void expect_chains(base::Queue& queue, const PartitionKeys& input, int32_t key_width,
                   const PartitionWay& way) {
  SCOPED_TRACE(input.name + ", key " + std::to_string(key_width) + ", " + to_text(way));
  PlacedKeys const placed(queue, input.keys, key_width);
  Transformed const chains = transform::order_by_key(
      queue, placed.prepared, transform::prepare_row_ids(queue, placed.prepared), way.order());
  Unchained found;
  unchain(queue, chains, key_width, way.bits, offsets_of(input.keys, way.bits), &found);
  if (::testing::Test::HasFatalFailure()) return;
  expect_every_row_once(input.keys, key_width, found.keys, found.rows);
}

TEST_F(BucketChains, HoldEachRowOnceInTheBucketsOfItsPartition) {
  for (PartitionKeys const& input : partition_keys()) {
    for (PartitionWay const& way : ways_of(Transform::kBucketChains)) {
      for (int32_t key_width : {4, 8}) {
        expect_chains(queue(), input, key_width, way);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(BucketChains, OfEveryNumberOfBitsInOnePass) {
  std::vector<uint64_t> const keys = any_keys(60000, 11);
  for (int32_t bits = 0; bits <= plan::most_bits_per_pass(Transform::kBucketChains); ++bits) {
    expect_chains(queue(), {"random", keys}, 4, {Transform::kBucketChains, bits, 1});
    expect_chains(queue(), {"random", keys}, 8, {Transform::kBucketChains, bits, 1});
    if (HasFatalFailure()) return;
  }
}

// Blocks meet in the same chains: all of them in one, or each pair of them in some.
TEST_F(BucketChains, HoldWhenManyBlocksAppendAtOnce) {
  std::vector<uint64_t> half = any_keys(1'000'000, 5);
  for (size_t row = 0; row < half.size(); row += 2) half[row] = 77;
  for (PartitionWay const& way : {PartitionWay{Transform::kBucketChains, 4, 1},
                                  {Transform::kBucketChains, 11, 1},
                                  {Transform::kBucketChains, 13, 2},
                                  {Transform::kBucketChains, 16, 2}}) {
    expect_chains(queue(), {"random", any_keys(1'000'000, 4)}, 4, way);
    expect_chains(queue(), {"equal", std::vector<uint64_t>(1'000'000, 3)}, 4, way);
    expect_chains(queue(), {"half of one key", half}, 8, way);
    if (HasFatalFailure()) return;
  }
}

TEST_F(BucketChains, NumberTheRowsThemselvesWhereNoneWasDropped) {
  for (int32_t passes : {1, 2}) {
    std::vector<uint64_t> const keys = any_keys(30000, 6);
    PlacedKeys const placed(queue(), keys, 4);
    PreparedColumn numbers;
    numbers.width = sizeof(uint32_t);
    Transformed const chains = transform::order_by_key(queue(), placed.prepared, numbers,
                                                       {Transform::kBucketChains, {0, 7}, passes});
    Unchained found;
    unchain(queue(), chains, 4, 7, offsets_of(keys, 7), &found);
    if (HasFatalFailure()) return;
    expect_every_row_once(keys, 4, found.keys, found.rows);
  }
}

TEST_F(BucketChains, MoveTheNumbersOfRowsWithValidKeys) {
  HostColumn host = key_column(any_keys(30000, 8), 4);
  set_valid(&host, random_valid(30000, 0.3, 1), 3);
  columns::DeviceColumn const column = place(queue(), host);
  transform::PreparedKeys const keys = transform::prepare_keys(queue(), column, 30000, true);
  transform::Order const order{Transform::kBucketChains, {0, 7}, 2};
  PreparedColumn const numbers = transform::row_ids_to_order(queue(), keys, order);
  ASSERT_NE(numbers.data, nullptr);
  std::vector<uint64_t> const mixed = download_keys(queue(), keys.keys, 4, keys.rows);
  Transformed const chains = transform::order_by_key(queue(), keys, numbers, order);
  Unchained found;
  unchain(queue(), chains, 4, 7, offsets_of(mixed, 7), &found);
  if (HasFatalFailure()) return;
  std::sort(found.rows.begin(), found.rows.end());
  EXPECT_EQ(found.rows, download<uint32_t>(queue(), keys.source_rows, keys.rows));
}

TEST_F(BucketChains, OfNoRowsAreNothing) {
  transform::PreparedKeys none;
  none.key_width = 8;
  PreparedColumn values;
  values.width = 4;
  Transformed const chains =
      transform::order_by_key(queue(), none, values, {Transform::kBucketChains, {0, 12}, 2});
  EXPECT_FALSE(chains.keys);
  EXPECT_FALSE(chains.buckets);
}

TEST_F(BucketChains, OfFewRowsInManyPartitionsStaySmall) {
  std::vector<uint64_t> const keys = any_keys(1000, 2);
  PlacedKeys const placed(queue(), keys, 8);
  Transformed const chains = transform::order_by_key(
      queue(), placed.prepared, transform::prepare_row_ids(queue(), placed.prepared),
      {Transform::kBucketChains, {0, 16}, 2});
  EXPECT_LE(chains.keys.bytes(), keys.size() * 32 * 8 * 2);
}

TEST_F(BucketChains, RefuseMorePlacesThanPositionsCanName) {
  transform::PreparedKeys many;
  many.rows = UINT32_MAX - 1;
  many.key_width = 4;
  PreparedColumn numbers;
  numbers.width = sizeof(uint32_t);
  EXPECT_EQ(
      status_of([&] {
        transform::order_by_key(queue(), many, numbers, {Transform::kBucketChains, {0, 16}, 2});
      }),
      GPUJOIN_ERROR_TOO_MANY_ROWS);
}

TEST_F(BucketChains, RefusePayloads) {
  PlacedKeys const placed(queue(), any_keys(100, 1), 4);
  PreparedColumn wide;
  wide.width = 8;
  EXPECT_EQ(status_of([&] {
              transform::order_by_key(queue(), placed.prepared, wide,
                                      {Transform::kBucketChains, {0, 4}, 1});
            }),
            GPUJOIN_ERROR_INTERNAL);
}

TEST_F(BucketChains, EndWithMemoryLimitAndReturnEverything) {
  expect_memory_limits({Transform::kBucketChains, 6, 1});
  expect_memory_limits({Transform::kBucketChains, 10, 2});
}

}  // namespace
}  // namespace gpujoin::tests
