// merge_sort_cuda_test.cpp: the sort that compares, against std::stable_sort.
#include <algorithm>
#include <numeric>

#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using MergeSort = GpuTest;
using transform::PreparedColumn;
using transform::PreparedKeys;
using transform::Transformed;

const transform::Order kMergeSort{plan::Transform::kMergeSort, {}, 1};

// A thread's rows (8), a warp, a tile (4096), and one to five rounds of merging with a last run
// that is full, short, or alone.
std::vector<size_t> sort_sizes() {
  return {0,    1,    2,    7,    8,    9,     31,    32,    33,    1000,  4095,  4096,
          4097, 5000, 8191, 8192, 8193, 12287, 12288, 12289, 16385, 20480, 40000, 131073};
}

std::vector<uint32_t> expected_order(const std::vector<uint64_t>& keys) {
  std::vector<uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  return rows;
}

uint64_t greatest(int32_t width) { return width == 4 ? UINT32_MAX : UINT64_MAX; }

// Half of the keys from all there are, half from a few, so that some are equal.
std::vector<uint64_t> mixed_keys(size_t rows, int32_t width, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) {
    key = random();
    if (random() % 2 == 0) key &= 0x0f0f;
    key &= greatest(width);
  }
  return keys;
}

PreparedKeys prepared(const columns::DeviceColumn& column, size_t rows) {
  PreparedKeys keys;
  keys.rows = static_cast<uint32_t>(rows);
  keys.key_width = column.width;
  keys.keys = column.data;
  return keys;
}

PreparedColumn prepared(const columns::DeviceColumn& column) {
  PreparedColumn values;
  values.data = column.data;
  values.width = column.width;
  return values;
}

// key_shift: bytes beyond an aligned address, as a slice of a column may begin.
void expect_sorted(base::Queue& queue, const std::vector<uint64_t>& keys, int32_t key_width,
                   int32_t value_width, size_t key_shift = 0) {
  SCOPED_TRACE(std::to_string(keys.size()) + " rows, key " + std::to_string(key_width) +
               ", value " + std::to_string(value_width));
  HostColumn const host_keys = key_column(keys, key_width);
  HostColumn const host_values = random_column(keys.size(), value_width, keys.size());
  columns::DeviceColumn const device_keys = place(queue, host_keys, key_shift);
  columns::DeviceColumn const values =
      place(queue, host_values, value_width == 16 ? 8 : static_cast<size_t>(value_width));
  Transformed const sorted = transform::order_by_key(queue, prepared(device_keys, keys.size()),
                                                     prepared(values), kMergeSort);
  std::vector<uint32_t> const order = expected_order(keys);
  ASSERT_EQ(download<unsigned char>(queue, sorted.keys.data(), host_keys.data.size()),
            bytes_of_rows(host_keys, order));
  ASSERT_EQ(download<unsigned char>(queue, sorted.values.data(), host_values.data.size()),
            bytes_of_rows(host_values, order));
  // The input is read only: the next column is moved by the same keys.
  ASSERT_EQ(download<unsigned char>(queue, device_keys.data, host_keys.data.size()),
            host_keys.data);
}

TEST_F(MergeSort, IsTheStableOrderForEveryWidthAndSize) {
  for (size_t rows : sort_sizes()) {
    for (int32_t key_width : {4, 8}) {
      std::vector<uint64_t> const keys = mixed_keys(rows, key_width, rows + 1);
      for (int32_t value_width : {1, 2, 4, 8, 16}) {
        expect_sorted(queue(), keys, key_width, value_width, static_cast<size_t>(key_width));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(MergeSort, SortsWhatIsInOrderInReverseOrEqual) {
  for (size_t rows : sort_sizes()) {
    for (int32_t key_width : {4, 8}) {
      uint64_t const step = key_width == 4 ? 3 : 0x100000003ULL;
      std::vector<uint64_t> ascending(rows);
      for (size_t i = 0; i < rows; ++i) ascending[i] = i * step;
      std::vector<uint64_t> const descending(ascending.rbegin(), ascending.rend());
      std::vector<uint64_t> up_and_down(rows);
      std::vector<uint64_t> runs_of_1000(rows);
      for (size_t i = 0; i < rows; ++i) {
        up_and_down[i] = std::min(i, rows - i) * step;
        runs_of_1000[i] = (rows - i) / 1000 * step;
      }
      std::vector<uint64_t> const equal(rows, step);
      // Places beyond the end of a tile are filled with the greatest key.
      std::vector<uint64_t> const all_greatest(rows, greatest(key_width));
      for (auto const& keys :
           {ascending, descending, up_and_down, runs_of_1000, equal, all_greatest}) {
        expect_sorted(queue(), keys, key_width, 4);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(MergeSort, ComparesKeysAsUnsignedInAllBits) {
  for (size_t rows : {size_t{100}, size_t{9000}}) {
    for (int32_t key_width : {4, 8}) {
      std::vector<uint64_t> keys(rows);
      std::mt19937_64 random(rows);
      for (uint64_t& key : keys) key = greatest(key_width) >> random() % 64;
      expect_sorted(queue(), keys, key_width, 8);
      // Only the lowest bit differs, only the highest, one in the middle.
      for (int32_t bit : {0, 8 * key_width / 2, 8 * key_width - 1}) {
        for (uint64_t& key : keys) key = (random() & 1) << bit;
        expect_sorted(queue(), keys, key_width, 2);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(MergeSort, MergesARunThatBelongsBeforeOrBetweenTheOther) {
  // The second tile below, above, and within the first; one row of the second run decides where
  // everything goes.
  size_t const tile = 4096;
  for (size_t rows : {2 * tile, 2 * tile + 1, 3 * tile, 4 * tile - 1}) {
    for (uint64_t begin : {0, 1000, 4095, 4096, 4097, 9000}) {
      std::vector<uint64_t> keys(rows);
      for (size_t i = 0; i < rows; ++i) keys[i] = i < tile ? 1000 + i : begin;
      expect_sorted(queue(), keys, 4, 4);
      for (size_t i = tile; i < rows; ++i) keys[i] = begin + (i - tile) / 7;
      expect_sorted(queue(), keys, 8, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(MergeSort, GivesEveryColumnTheSameOrder) {
  // Five distinct keys: an unstable order would differ somewhere.
  size_t const rows = 70000;
  HostColumn const host = random_column(rows, 16, 8);
  columns::DeviceColumn const keys = place(queue(), key_column(random_keys(rows, 5, 3, 1), 4));
  columns::DeviceColumn const payload = place(queue(), host);
  PreparedKeys const sides = prepared(keys, rows);
  Transformed const ids = transform::order_by_key(
      queue(), sides, transform::prepare_row_ids(queue(), sides), kMergeSort);
  Transformed const values = transform::order_by_key(queue(), sides, prepared(payload), kMergeSort);
  std::vector<uint32_t> const order = download<uint32_t>(queue(), ids.values.data(), rows);
  EXPECT_EQ(download<unsigned char>(queue(), values.values.data(), host.data.size()),
            bytes_of_rows(host, order));
}

TEST_F(MergeSort, OfNoRowsIsNothing) {
  PreparedKeys none;
  none.key_width = 8;
  PreparedColumn values;
  values.width = 16;
  Transformed const sorted = transform::order_by_key(queue(), none, values, kMergeSort);
  EXPECT_FALSE(sorted.keys);
  EXPECT_FALSE(sorted.values);
}

TEST_F(MergeSort, TooLittleMemoryIsAStatus) {
  // Keys and values of the input take 1.6 MB; the sort needs them twice more.
  size_t const rows = 200000;
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 4 << 20;
  auto const small = OwnQueue(options);
  columns::DeviceColumn const keys = place(*small, key_column(random_keys(rows, rows, 1, 1), 4));
  columns::DeviceColumn const values = place(*small, random_column(rows, 4, 1));
  uint64_t const in_use = small->device_pool->in_use_bytes();
  try {
    transform::order_by_key(*small, prepared(keys, rows), prepared(values), kMergeSort);
    FAIL() << "the second buffers were found below the limit";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_NE(std::string(error.what()).find("sorted"), std::string::npos) << error.what();
  }
  EXPECT_EQ(small->device_pool->in_use_bytes(), in_use);
}

TEST_F(MergeSort, StopsBetweenRoundsWhenCancelled) {
  size_t const rows = 20000;
  columns::DeviceColumn const keys = place(queue(), key_column(random_keys(rows, 99, 1, 1), 4));
  columns::DeviceColumn const values = place(queue(), random_column(rows, 4, 1));
  queue().context.cancels.fetch_add(1);
  try {
    transform::order_by_key(queue(), prepared(keys, rows), prepared(values), kMergeSort);
    FAIL() << "the request was not seen";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
  }
}

}  // namespace
}  // namespace gpujoin::tests
