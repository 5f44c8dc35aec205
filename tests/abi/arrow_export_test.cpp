// arrow_export_test.cpp: results out as Arrow, in host memory and where they lie.
#include <cstring>
#include <thread>

#include "tests/abi/arrow_batch.hpp"
#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

// What a consumer holds. Releases at the end what is still there.
struct Exported {
  ArrowSchema schema{};
  ArrowArray array{};
  Exported() = default;
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
};

template <typename Value>
std::optional<Value> value_at(const ArrowArray& array, int64_t row) {
  auto const at = static_cast<size_t>(array.offset + row);
  auto const* bits = static_cast<const uint8_t*>(array.buffers[0]);
  if (bits != nullptr && (bits[at / 8] >> (at % 8) & 1) == 0) return std::nullopt;
  return static_cast<const Value*>(array.buffers[1])[at];
}

// A result of 100 rows: key i, value i with every fourth NULL; timestamps with a zone, decimals.
class ArrowExport : public DeviceTest {
 protected:
  static constexpr int64_t kRows = 100;

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    std::vector<bool> valid;
    for (int32_t i = 0; i < kRows; ++i) {
      keys.push_back(i);
      values.push_back(static_cast<int16_t>(i));
      valid.push_back(i % 4 != 0);
      stamps.push_back(1000 + i);
    }
    decimals.resize(kRows * 2, -1);
    validity = bits_of(valid);
    batch = std::make_unique<ArrowBatch>(
        std::vector<ArrowChild>{
            {"key", "i", kRows, 0, 0, {nullptr, keys.data()}, false},
            {"value", "s", kRows, 0, 25, {validity.data(), values.data()}, false},
            {"at", "tsu:Europe/Berlin", kRows, 0, 0, {nullptr, stamps.data()}, false},
            {"price", "d:12,2", kRows, 0, 0, {nullptr, decimals.data()}, false}},
        kRows);
    context = make_context(device());
    gpujoin_relation* raw = nullptr;
    ASSERT_OK(call(gpujoin_relation_import, context.get(), &batch->schema, &batch->array, &raw));
    relation.reset(raw);
    Spec spec;
    spec.left_columns = {0, 1};
    spec.right_columns = {2, 3};
    spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    result = join(context, relation, relation, spec);
    ASSERT_EQ(rows_of(result), kRows);
  }
  Answer export_page(gpujoin_page* page, Exported* out) {
    return call(gpujoin_result_export, result.get(), page, &out->schema, &out->array);
  }
  // Each row is complete in itself, in whatever order rows come.
  static void expect_rows(const ArrowArray& array, int64_t rows) {
    ASSERT_EQ(array.length, rows);
    ASSERT_EQ(array.n_children, 6);
    int64_t nulls = 0;
    for (int64_t row = 0; row < rows; ++row) {
      auto const key = value_at<int32_t>(*array.children[2], row);
      ASSERT_TRUE(key.has_value());
      EXPECT_EQ(value_at<uint32_t>(*array.children[0], row), static_cast<uint32_t>(*key));
      EXPECT_EQ(value_at<uint32_t>(*array.children[1], row), static_cast<uint32_t>(*key));
      auto const value = value_at<int16_t>(*array.children[3], row);
      EXPECT_EQ(value.has_value(), *key % 4 != 0);
      EXPECT_EQ(value.value_or(static_cast<int16_t>(*key)), *key);
      nulls += value ? 0 : 1;
      EXPECT_EQ(value_at<int64_t>(*array.children[4], row), 1000 + *key);
    }
    EXPECT_EQ(array.children[3]->null_count, nulls);
    EXPECT_EQ(array.children[2]->null_count, 0);
  }

  std::vector<int32_t> keys;
  std::vector<int16_t> values;
  std::vector<int64_t> stamps;
  std::vector<int64_t> decimals;
  std::vector<uint8_t> validity;
  std::unique_ptr<ArrowBatch> batch;
  Context context;
  Relation relation;
  Result result;
};
ON_EVERY_DEVICE(ArrowExport);

}  // namespace

TEST_P(ArrowExport, SchemaHasNamesTypesAndFlags) {
  Exported exported;
  ASSERT_OK(export_page(nullptr, &exported));
  EXPECT_STREQ(exported.schema.format, "+s");
  EXPECT_EQ(exported.schema.dictionary, nullptr);
  struct {
    const char* name;
    const char* format;
    int64_t flags;
  } const expected[] = {{"left_row", "I", 0},
                        {"right_row", "I", 0},
                        {"key", "i", ARROW_FLAG_NULLABLE},
                        {"value", "s", ARROW_FLAG_NULLABLE},
                        {"at", "tsu:Europe/Berlin", ARROW_FLAG_NULLABLE},
                        {"price", "d:12,2", ARROW_FLAG_NULLABLE}};
  ASSERT_EQ(exported.schema.n_children, 6);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_STREQ(exported.schema.children[i]->name, expected[i].name);
    EXPECT_STREQ(exported.schema.children[i]->format, expected[i].format);
    EXPECT_EQ(exported.schema.children[i]->flags, expected[i].flags);
    EXPECT_EQ(exported.schema.children[i]->n_children, 0);
    EXPECT_EQ(exported.array.children[i]->n_buffers, 2);
  }
  EXPECT_EQ(exported.array.n_buffers, 1);
  EXPECT_EQ(exported.array.buffers[0], nullptr);
  EXPECT_EQ(exported.array.null_count, 0);
}

TEST_P(ArrowExport, HoldsTheWholeResultOrAPage) {
  Exported whole;
  ASSERT_OK(export_page(nullptr, &whole));
  expect_rows(whole.array, kRows);
  for (int64_t const most : {1, 7, 8, 13, 99}) {
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.max_rows = most;
    for (int64_t row = 0; row < kRows; row += most) {
      Exported part;
      ASSERT_OK(export_page(&page, &part));
      ASSERT_EQ(page.rows, std::min(most, kRows - row));
      ASSERT_EQ(page.first_row, row + page.rows);
      expect_rows(part.array, page.rows);
    }
    Exported nothing;
    ASSERT_OK(export_page(&page, &nothing));
    EXPECT_EQ(page.rows, 0);
    EXPECT_EQ(nothing.array.length, 0);
  }
}

TEST_P(ArrowExport, OutlivesResultAndContext) {
  Exported exported;
  ASSERT_OK(export_page(nullptr, &exported));
  result.reset();
  relation.reset();
  context.reset();
  expect_rows(exported.array, kRows);
  std::thread([&] { exported.array.release(&exported.array); }).join();
  EXPECT_EQ(exported.array.release, nullptr);
}

TEST_P(ArrowExport, AChildMayBeMovedOutAndLivesOn) {
  Exported exported;
  ASSERT_OK(export_page(nullptr, &exported));
  ArrowArray child = *exported.array.children[4];
  exported.array.children[4]->release = nullptr;
  ArrowSchema child_schema = *exported.schema.children[4];
  exported.schema.children[4]->release = nullptr;
  exported.array.release(&exported.array);
  exported.schema.release(&exported.schema);
  result.reset();
  context.reset();
  EXPECT_STREQ(child_schema.format, "tsu:Europe/Berlin");
  EXPECT_GE(value_at<int64_t>(child, 0), 1000);
  child.release(&child);
  EXPECT_EQ(child.release, nullptr);
  child_schema.release(&child_schema);
}

TEST_P(ArrowExport, OfACpuResultIsNoCopy) {
  if (device() != GPUJOIN_DEVICE_CPU) return;
  Exported first;
  Exported second;
  ASSERT_OK(export_page(nullptr, &first));
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = 50;
  ASSERT_OK(export_page(&page, &second));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(first.array.children[i]->buffers[1], second.array.children[i]->buffers[1]);
    EXPECT_EQ(second.array.children[i]->offset, 50);
  }
}

TEST_P(ArrowExport, ComesBackAsARelation) {
  Exported exported;
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = 3;
  page.max_rows = 50;
  ASSERT_OK(export_page(&page, &exported));
  gpujoin_relation* raw = nullptr;
  ASSERT_OK(call(gpujoin_relation_import, context.get(), &exported.schema, &exported.array, &raw));
  Relation const again(raw);
  result.reset();
  Spec spec;
  spec.left_keys = {2};
  spec.left_columns = {2, 3};
  Result const joined = join(context, again, relation, spec);
  ASSERT_EQ(rows_of(joined), 50);
  auto const found_keys = column_of<int32_t>(joined, 0);
  auto const found_values = column_of<int16_t>(joined, 1);
  for (size_t i = 0; i < 50; ++i) {
    if (*found_keys[i] % 4 == 0) {
      EXPECT_EQ(found_values[i], std::nullopt);
    } else {
      EXPECT_EQ(found_values[i], *found_keys[i]);
    }
  }
}

TEST_P(ArrowExport, OfAnEmptyResultHasItsSchema) {
  Table const none = counting_table(0, 1);
  Relation const empty = make_relation(context, none);
  Spec spec;
  spec.left_columns = {1};
  Result const nothing = join(context, empty, empty, spec);
  Exported exported;
  ASSERT_OK(call(gpujoin_result_export, nothing.get(), nullptr, &exported.schema, &exported.array));
  ASSERT_EQ(exported.schema.n_children, 1);
  EXPECT_STREQ(exported.schema.children[0]->name, "payload");
  EXPECT_EQ(exported.array.length, 0);
  EXPECT_EQ(exported.array.children[0]->length, 0);
}

TEST_P(ArrowExport, RefusesACursorOutsideAndWritesNothing) {
  Exported exported;
  std::memset(&exported.schema, 0x5A, sizeof(exported.schema));
  std::memset(&exported.array, 0x5A, sizeof(exported.array));
  Exported const& before = exported;
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = kRows + 1;
  EXPECT_NAMES(export_page(&page, &exported), GPUJOIN_ERROR_INVALID_ARGUMENT, "first_row");
  EXPECT_EQ(before.schema.flags, 0x5A5A5A5A5A5A5A5A);
  EXPECT_EQ(before.array.length, 0x5A5A5A5A5A5A5A5A);
  exported.schema.release = nullptr;
  exported.array.release = nullptr;
}

TEST_P(ArrowExport, OnTheDeviceLiesWhereTheResultLies) {
  ArrowSchema schema{};
  ArrowDeviceArray array{};
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.first_row = 10;
  ASSERT_OK(call(gpujoin_result_export_device, result.get(), &page, &schema, &array));
  EXPECT_EQ(page.rows, kRows - 10);
  EXPECT_EQ(array.sync_event, nullptr);
  for (int64_t const reserved : array.reserved) EXPECT_EQ(reserved, 0);
  if (device() == GPUJOIN_DEVICE_CPU) {
    EXPECT_EQ(array.device_type, ARROW_DEVICE_CPU);
    EXPECT_EQ(array.device_id, -1);
    expect_rows(array.array, kRows - 10);
  } else {
    EXPECT_EQ(array.device_type, ARROW_DEVICE_CUDA);
    EXPECT_EQ(array.device_id, 0);
    ArrowArray const& key = *array.array.children[2];
    std::vector<uint8_t> const bytes = download(key.buffers[1], kRows * 4);
    auto const expected = column_of<int32_t>(result, 0);
    for (size_t row = 0; row < kRows; ++row) {
      int32_t value = 0;
      std::memcpy(&value, bytes.data() + row * 4, 4);
      EXPECT_EQ(value, expected[row]);
    }
  }
  // And back in, without leaving the device.
  gpujoin_relation* raw = nullptr;
  ASSERT_OK(call(gpujoin_relation_import_device, context.get(), &schema, &array, &raw));
  Relation const again(raw);
  result.reset();
  Spec spec;
  spec.left_keys = {2};
  spec.left_columns = {2, 3};
  Result const joined = join(context, again, relation, spec);
  EXPECT_EQ(rows_of(joined), kRows - 10);
  auto const found_keys = column_of<int32_t>(joined, 0);
  auto const found_values = column_of<int16_t>(joined, 1);
  for (size_t i = 0; i < found_keys.size(); ++i) {
    EXPECT_EQ(found_values[i].has_value(), *found_keys[i] % 4 != 0);
  }
}
