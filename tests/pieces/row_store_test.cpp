// row_store_test.cpp: rows of a store, held against those that were appended: of one that is
// partitioned while they come, all are in partitions in the end; of one that is not, blocks in
// memory and in a file become one relation in the order of the rows.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "src/pieces/row_store.hpp"
#include "tests/own_queue.hpp"
#include "tests/pieces/batch_columns.hpp"

namespace gpujoin::tests {

TEST(RowStore, PartitionsTheBlocksFromBefore) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  OwnQueue queue(options);
  constexpr int64_t kBatches = 40;
  std::vector<int32_t> keys(1000);
  std::iota(keys.begin(), keys.end(), 0);
  auto batch = std::make_shared<columns::Relation>();
  batch->context = queue.context();
  batch->rows = static_cast<int64_t>(keys.size());
  columns::ColumnView column;
  column.type = GPUJOIN_TYPE_INT32;
  column.width = 4;
  column.memory = base::Memory::kHost;
  column.data = keys.data();
  batch->columns = {column};

  pieces::StoreShape shape;
  shape.context = queue.context();
  shape.schema = pieces::make_row_schema(*batch, false);
  shape.keys = {0};
  shape.partitions = 8;
  shape.block_bytes = 1 << 14;  // four batches
  pieces::RowStore store(std::move(shape));
  for (int64_t i = 0; i < kBatches; ++i) {
    if (i == kBatches / 2) store.begin_partitions();
    store.append(batch, i * batch->rows, base::CallEnd());
  }
  store.finish(base::CallEnd());

  int64_t sum = 0;
  for (size_t part = 0; part < store.part_count(); ++part) {
    for (size_t i = 0; i < store.block_count(part); ++i) {
      auto const block = store.block(part, i);
      auto const* const values = static_cast<const int32_t*>(block->columns[0].data);
      sum = std::accumulate(values, values + block->rows, sum);
    }
  }
  EXPECT_EQ(store.rows(), kBatches * batch->rows);
  EXPECT_EQ(sum, kBatches * std::accumulate(keys.begin(), keys.end(), int64_t{0}));
}

namespace {

void expect_one_relation(uint64_t memory_bytes) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  OwnQueue queue(options);
  pieces::StoreShape shape;
  shape.context = queue.context();
  shape.block_bytes = 1 << 16;
  shape.memory_bytes = memory_bytes;
  if (memory_bytes != 0) {
    shape.folder = std::make_shared<base::SpillFolder>(std::filesystem::temp_directory_path(), 0);
  }
  std::optional<pieces::RowStore> store;
  std::vector<Values> expected;
  int64_t rows = 0;
  for (size_t i = 0; i < 60; ++i) {
    Drawn drawn;
    drawn.rows = 700 + 13 * i;
    drawn.nulls = i % 20 < 10 ? 0 : 0.2;  // blocks without any NULL, and with some
    auto batch = std::make_shared<columns::Relation>();
    batch->context = queue.context();
    batch->rows = static_cast<int64_t>(drawn.rows);
    auto columns = std::make_shared<std::vector<BatchColumn>>();
    for (auto const& maker : every_maker()) {
      drawn.seed = 100 * i + columns->size();
      columns->push_back(maker(drawn));
      batch->columns.push_back(columns->back().view);
    }
    batch->owner = columns;
    expected.resize(columns->size());
    for (size_t c = 0; c < columns->size(); ++c) {
      auto const& values = (*columns)[c].values;
      expected[c].insert(expected[c].end(), values.begin(), values.end());
    }
    if (!store) {
      shape.schema = pieces::make_row_schema(*batch, false);
      store.emplace(shape);
    }
    store->append(batch, rows, base::CallEnd());
    rows += batch->rows;
  }
  store->finish(base::CallEnd());
  EXPECT_EQ(store->spilled_bytes() != 0, memory_bytes != 0);
  auto const groups = store->groups(0, 0);
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_GT(groups.front().end, 10U);
  auto const found = store->read_all(*queue, 0, groups.front());
  ASSERT_EQ(found->rows, rows);
  for (size_t c = 0; c < expected.size(); ++c) {
    EXPECT_TRUE(values_of(found->columns[c], rows) == expected[c]) << "column " << c;
  }
}

}  // namespace

TEST(RowStore, BlocksBecomeOneRelation) { expect_one_relation(0); }

TEST(RowStore, BlocksInMemoryAndInAFileBecomeOneRelation) { expect_one_relation(1 << 20); }

}  // namespace gpujoin::tests
