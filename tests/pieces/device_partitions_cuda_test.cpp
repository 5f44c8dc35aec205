// Rows that a device partitions lie in the partitions that the host would put them into, in their
// order, and come back as they were.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "src/pieces/brought_rows.hpp"
#include "src/pieces/row_store.hpp"
#include "src/pieces/rows_by_partition.hpp"
#include "src/pieces/slice.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/pieces/all_key_columns.hpp"

namespace gpujoin::tests {
namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;

class DevicePartitions : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      queue_ = OwnQueue(cuda_options());
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_NO_DEVICE) throw;
      GTEST_SKIP() << error.what();
    }
  }

  std::shared_ptr<pieces::RowStore> store_of(const Relation& like, std::vector<int32_t> flags,
                                             uint32_t partitions, bool has_numbers = false,
                                             uint64_t resident_bytes = 0) {
    pieces::StoreShape shape;
    shape.context = queue_.context();
    shape.schema = pieces::make_row_schema(like, has_numbers);
    shape.keys = {0};
    shape.key_flags = std::move(flags);
    shape.partitions = partitions;
    shape.seed = 12345;
    shape.block_bytes = 1 << 20;
    shape.moving_bytes = 8 << 20;
    shape.resident_bytes = resident_bytes;
    auto store = std::make_shared<pieces::RowStore>(std::move(shape));
    store->begin_partitions();
    return store;
  }

  std::shared_ptr<Relation> relation(std::vector<ColumnView> columns, int64_t rows) {
    auto made = std::make_shared<Relation>();
    made->context = queue_.context();
    made->rows = rows;
    made->columns = std::move(columns);
    return made;
  }

  OwnQueue queue_;
};

// A row's value, or "NULL".
std::string value_at(const ColumnView& column, int64_t row) {
  if (column.validity != nullptr) {
    int64_t const bit = column.validity_bit_offset + row;
    if ((column.validity[bit / 8] >> (bit % 8) & 1) == 0) return "NULL";
  }
  auto const* const data = static_cast<const uint8_t*>(column.data);
  if (column.layout == Layout::kBits) {
    int64_t const bit = column.parts->first_bit + row;
    return (data[bit / 8] >> (bit % 8) & 1) != 0 ? "true" : "false";
  }
  auto const width = static_cast<size_t>(column.width);
  return {reinterpret_cast<const char*>(data) + static_cast<size_t>(row) * width, width};
}

void expect_rows(const Relation& rows, const Relation& given, std::span<const uint32_t> expected,
                 bool has_numbers) {
  ASSERT_EQ(rows.rows, static_cast<int64_t>(expected.size()));
  for (int64_t row = 0; row < rows.rows; ++row) {
    auto const of = static_cast<int64_t>(expected[static_cast<size_t>(row)]);
    for (size_t i = 0; i < given.columns.size(); ++i) {
      ASSERT_EQ(value_at(rows.columns[i], row), value_at(given.columns[i], of))
          << "row " << row << ", column " << i;
    }
    if (!has_numbers) continue;
    int64_t number = 0;
    std::memcpy(&number, value_at(rows.columns.back(), row).data(), sizeof(number));
    ASSERT_EQ(number, of + 1000);
  }
}

// Both ways back: copies in host memory, and rows on the device.
void expect_partitions(base::Queue& queue, const pieces::RowStore& store, const Relation& given,
                       bool has_numbers = false, bool is_on_device = true) {
  auto const& shape = store.shape();
  pieces::RowsByPartition const expected(
      given, {shape.keys, shape.key_flags, shape.partitions, shape.seed});
  for (size_t part = 0; part < store.part_count(); ++part) {
    SCOPED_TRACE("partition " + std::to_string(part));
    auto const groups = store.groups(part, 0);
    ASSERT_LE(groups.size(), 1U);
    if (groups.empty()) {
      EXPECT_TRUE(expected.of(part).empty());
      continue;
    }
    expect_rows(*store.read_all(queue, part, groups[0]), given, expected.of(part), has_numbers);
    auto const there = store.bring_all(queue, part, groups[0]);
    for (ColumnView const& column : there->columns) {
      EXPECT_EQ(column.memory == base::Memory::kDevice, is_on_device);
    }
    auto const back = pieces::brought(queue, there, base::Memory::kHost);
    base::finish(queue);
    expect_rows(*back, given, expected.of(part), has_numbers);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(DevicePartitions, AreThoseOfTheHostForEveryTypeThatTheDeviceHashes) {
  std::map<std::string, int> hashed;
  for (KeyColumn& column : all_columns()) {
    ColumnView const& view = column.view;
    for (bool const is_null_equal : {false, true}) {
      SCOPED_TRACE(view.arrow_format + (is_null_equal ? ", NULL_EQUAL" : ""));
      auto const rows = relation({view}, column.rows());
      auto const store = store_of(*rows, {is_null_equal ? columns::kNullEqual : 0}, 7);
      if (!store->is_partitioned_by_device()) continue;
      ++hashed[view.arrow_format];
      store->append_block(rows, {});
      store->finish({});
      EXPECT_EQ(store->rows(), rows->rows);
      expect_partitions(*queue_, *store, *rows);
      if (HasFatalFailure()) return;
    }
  }
  // 8 integers, 3 floats, 7 decimals, 18 of times.
  EXPECT_GE(hashed.size(), 36U);
}

// Columns of all widths, NULLs, bits, numbers; several blocks.
TEST_F(DevicePartitions, KeepWholeRowsInTheirOrder) {
  constexpr int64_t kRows = 200'003;
  auto const count = static_cast<size_t>(kRows);
  std::vector<HostColumn> host;
  std::vector<ColumnView> columns;
  for (int32_t const width : {4, 1, 2, 4, 8, 16}) {
    host.push_back(random_column(count, width, static_cast<uint64_t>(width)));
  }
  for (size_t i : {size_t{0}, size_t{2}, size_t{5}}) {
    set_valid(&host[i], random_valid(count, 0.2, i), static_cast<int64_t>(3 * i));
  }
  gpujoin_type const types[] = {GPUJOIN_TYPE_INT32, GPUJOIN_TYPE_INT8,  GPUJOIN_TYPE_INT16,
                                GPUJOIN_TYPE_INT32, GPUJOIN_TYPE_INT64, GPUJOIN_TYPE_BYTES16};
  for (size_t i = 0; i < host.size(); ++i) {
    ColumnView view;
    view.type = types[i];
    view.width = host[i].width;
    view.layout = columns::layout_of(view.type);
    view.arrow_format = columns::arrow_format_of(view.type);
    view.data = host[i].data.data();
    if (!host[i].bits.empty()) {
      view.validity = host[i].bits.data();
      view.validity_bit_offset = host[i].bit_offset;
    }
    columns.push_back(view);
  }
  auto const bits = random_column(count / 8 + 2, 1, 99);
  ColumnView truth;
  truth.type = GPUJOIN_TYPE_BOOL;
  truth.layout = Layout::kBits;
  truth.arrow_format = "b";
  truth.data = bits.data.data();
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->first_bit = 5;
  truth.parts = parts;
  columns.push_back(truth);
  auto const rows = relation(std::move(columns), kRows);
  for (uint32_t const partitions : {1U, 3U, 255U}) {
    SCOPED_TRACE(std::to_string(partitions) + " partitions");
    auto const store = store_of(*rows, {}, partitions, true);
    ASSERT_TRUE(store->is_partitioned_by_device());
    ASSERT_TRUE(store->takes_where_it_lies(*rows));
    store->append(rows, 1000, {});
    store->finish({});
    EXPECT_GT(store->block_count(0), 1U);
    expect_partitions(*queue_, *store, *rows, true);
    if (HasFatalFailure()) return;
  }
  // From the device.
  auto const there = pieces::brought(*queue_, rows, base::Memory::kDevice);
  base::finish(*queue_);
  auto const store = store_of(*rows, {}, 5, true);
  store->append(there, 1000, {});
  store->finish({});
  expect_partitions(*queue_, *store, *rows, true);
}

// Blocks that stay on the device, and others, and those that stayed there once they left.
TEST_F(DevicePartitions, StayOnTheDeviceWhileTheyMay) {
  constexpr int64_t kRows = 1'000'003;
  auto const host = random_column(static_cast<size_t>(kRows), 8, 5);
  ColumnView view;
  view.type = GPUJOIN_TYPE_INT64;
  view.width = 8;
  view.arrow_format = "l";
  view.data = host.data.data();
  auto const rows = relation({view}, kRows);
  auto const store = store_of(*rows, {}, 6, false, uint64_t{3} << 20);
  store->append(rows, 0, {});
  store->finish({});
  EXPECT_GT(store->resident_bytes(), uint64_t{1} << 20);
  EXPECT_LE(store->resident_bytes(), uint64_t{3} << 20);
  // The first way back of expect_partitions has them leave.
  for (size_t part = 0; part < 6; ++part) {
    auto const there = store->bring_all(*queue_, part, store->groups(part, 0)[0]);
    auto const back = pieces::brought(*queue_, there, base::Memory::kHost);
    base::finish(*queue_);
    pieces::RowsByPartition const expected(*rows, {store->shape().keys, {}, 6, 12345});
    expect_rows(*back, *rows, expected.of(part), false);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(store->resident_bytes(), 0U);
  expect_partitions(*queue_, *store, *rows);
  EXPECT_EQ(store->resident_bytes(), 0U);
}

TEST_F(DevicePartitions, AreMadeByTheHostWhereThereIsNoPageLockedMemory) {
  gpujoin_context_options options = cuda_options();
  options.pinned_limit_bytes = uint64_t{2} << 20;
  queue_ = OwnQueue(options);
  constexpr int64_t kRows = 1'000'000;
  auto const host = random_column(static_cast<size_t>(kRows), 4, 3);
  ColumnView view;
  view.type = GPUJOIN_TYPE_INT32;
  view.width = 4;
  view.arrow_format = "i";
  view.data = host.data.data();
  auto const rows = relation({view}, kRows);
  auto const store = store_of(*rows, {}, 4);
  store->append(rows, 0, {});
  store->finish({});
  EXPECT_EQ(store->rows(), kRows);
  expect_partitions(*queue_, *store, *rows, false, false);
}

}  // namespace
}  // namespace gpujoin::tests
