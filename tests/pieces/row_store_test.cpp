// Rows of a store that is partitioned while they come: all of them are in partitions in the end.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "src/pieces/row_store.hpp"
#include "tests/own_queue.hpp"

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

}  // namespace gpujoin::tests
