// Builds of large batches: one part on the device while they fit, partitions once they do not.
#include "src/pieces/build.hpp"

#include <algorithm>
#include <vector>

#include "src/pieces/brought_rows.hpp"
#include "src/pieces/slice.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/pieces/drawn_tables.hpp"

namespace gpujoin::tests {
namespace {

using columns::Relation;

class DeviceBuild : public ::testing::Test {
 protected:
  void open(uint64_t limit) {
    gpujoin_context_options options = cuda_options();
    options.memory_limit_bytes = limit;
    try {
      queue_ = OwnQueue(options);
    } catch (const base::Error& error) {
      if (error.status() != GPUJOIN_ERROR_NO_DEVICE) throw;
      GTEST_SKIP() << error.what();
    }
  }

  // Rows first to first + rows, of a column.
  std::shared_ptr<const Relation> batch(int64_t first, int64_t rows) {
    auto made = std::make_shared<Relation>();
    columns::ColumnView view;
    view.type = GPUJOIN_TYPE_INT32;
    view.width = 4;
    view.arrow_format = "i";
    view.data = values_.data() + first;
    made->context = queue_.context();
    made->rows = rows;
    made->columns.push_back(view);
    return made;
  }

  std::shared_ptr<pieces::Build> build() {
    pieces::BuildShape shape;
    shape.keys = {0};
    shape.on_gpu = true;
    return std::make_shared<pieces::Build>(queue_.context(), *batch(0, 0), std::move(shape));
  }

  void append_all(pieces::Build& build) {
    for (int64_t const rows : {kLarge, int64_t{100}, kLarge, int64_t{1000}, kLarge}) {
      build.append(batch(appended_, rows), 0);
      appended_ += rows;
    }
    build.finish();
  }

  static constexpr int64_t kLarge = (int64_t{1} << 20) + 5;
  OwnQueue queue_;
  std::vector<int32_t> values_ = [] {
    std::vector<int32_t> values(4 * static_cast<size_t>(kLarge));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7);
    return values;
  }();
  int64_t appended_ = 0;
};

// With NULLs and text, from any bit and any offset on.
TEST_F(DeviceBuild, OfBatchesOfTheDeviceIsOnePartWhateverItsColumns) {
  open(0);
  if (IsSkipped()) return;
  for (std::vector<int64_t> const& batches :
       {std::vector<int64_t>{1000}, {1, 31, 32, 33, 903}, {500, 7, 493}, {64, 936}}) {
    auto const table = draw({1000, 50, 0.0, 0.2, 1});
    auto const rows = relation_of(queue_.context(), table);
    auto const there = pieces::on_device(*queue_, rows);
    base::finish(*queue_);
    pieces::BuildShape shape;
    shape.keys = {0};
    shape.on_gpu = true;
    pieces::Build build(queue_.context(), *rows, std::move(shape));
    int64_t first = 0;
    for (int64_t const count : batches) {
      build.append(pieces::slice(there, first, count), 0);
      first += count;
    }
    build.finish();
    ASSERT_TRUE(build.is_whole());
    ASSERT_EQ(build.parts().size(), 1U);
    EXPECT_EQ(build.store().appended_bytes(), 0U);  // none of them was gathered
    auto const found = pieces::in_host(*queue_, build.parts().front());
    ASSERT_EQ(found->rows, 1000);
    auto const is_valid = [&](size_t column, int64_t row) {
      columns::ColumnView const& view = found->columns[column];
      return view.validity == nullptr || is_set(view.validity, view.validity_bit_offset + row);
    };
    auto const text_at = [](const Relation& relation, int64_t row) {
      columns::ColumnView const& view = relation.columns[3];
      auto const* const offsets = static_cast<const int32_t*>(view.parts->offsets);
      auto const* const bytes = static_cast<const char*>(view.data);
      return std::string(bytes + offsets[row], bytes + offsets[row + 1]);
    };
    for (int64_t row = 0; row < 1000; ++row) {
      auto const at = static_cast<size_t>(row);
      EXPECT_EQ(static_cast<const int32_t*>(found->columns[0].data)[row], table->key[at]);
      EXPECT_EQ(static_cast<const int64_t*>(found->columns[1].data)[row], table->second[at]);
      EXPECT_EQ(static_cast<const int32_t*>(found->columns[2].data)[row], table->number[at]);
      EXPECT_EQ(text_at(*found, row), text_at(*rows, row));
      EXPECT_EQ(is_valid(0, row), is_set(table->key_valid.data(), row));
      EXPECT_EQ(is_valid(1, row), is_set(table->second_valid.data(), row));
      EXPECT_TRUE(is_valid(2, row));
      EXPECT_EQ(is_valid(3, row), is_set(table->text_valid.data(), row));
    }
    if (HasFailure()) return;
  }
}

TEST_F(DeviceBuild, OfSeveralLargeBatchesIsOnePart) {
  open(0);
  if (IsSkipped()) return;
  auto const made = build();
  append_all(*made);
  ASSERT_TRUE(made->is_whole());
  ASSERT_EQ(made->parts().size(), 1U);
  Relation const& part = *made->parts().front();
  ASSERT_EQ(part.rows, appended_);
  EXPECT_EQ(part.columns[0].memory, base::Memory::kDevice);
  auto found = download<int32_t>(*queue_, part.columns[0].data, static_cast<size_t>(appended_));
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(std::equal(found.begin(), found.end(), values_.begin()));
}

TEST_F(DeviceBuild, IsPartitionedFromTheBatchOnThatDoesNotFit) {
  open(uint64_t{48} << 20);  // of which batches may have 12 as they come
  if (IsSkipped()) return;
  auto const made = build();
  append_all(*made);
  ASSERT_FALSE(made->is_whole());
  pieces::RowStore const& store = made->store();
  ASSERT_TRUE(store.is_partitioned_by_device());
  std::vector<int32_t> found;
  for (size_t p = 0; p < store.part_count(); ++p) {
    for (auto const& group : store.groups(p, 0)) {
      auto const rows = store.read_all(*queue_, p, group);
      auto const* const values = static_cast<const int32_t*>(rows->columns[0].data);
      found.insert(found.end(), values, values + rows->rows);
    }
  }
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), static_cast<size_t>(appended_));
  EXPECT_TRUE(std::equal(found.begin(), found.end(), values_.begin()));
}

// What a batch's copies told of the keys is told of the part that they are, and of no other.
TEST_F(DeviceBuild, KnowsTheKeysOfALoneBatchOfTheDevice) {
  open(0);
  if (IsSkipped()) return;
  for (int const batches : {1, 2}) {
    auto const there = pieces::on_device(*queue_, batch(3, 1000));
    base::finish(*queue_);
    auto const made = build();
    for (int i = 0; i < batches; ++i) made->append(there, 0);
    made->finish();
    ASSERT_TRUE(made->is_whole());
    auto const& seen = made->seen_keys();
    ASSERT_EQ(seen.has_value(), batches == 1);
    if (!seen) continue;
    EXPECT_EQ(seen->keys, made->parts().front()->columns[0].data);
    EXPECT_EQ(seen->rows, 1000U);
    EXPECT_EQ(seen->range.step, 7U);
    EXPECT_EQ(seen->range.high - seen->range.low, 7U * 999U);
  }
  auto const from_host = build();
  append_all(*from_host);
  EXPECT_FALSE(from_host->seen_keys().has_value());
}

}  // namespace
}  // namespace gpujoin::tests
