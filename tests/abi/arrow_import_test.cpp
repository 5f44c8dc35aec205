// arrow_import_test.cpp: record batches in, sliced or not, and who releases them when.
#include <array>
#include <thread>

#include "tests/abi/arrow_batch.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

// Twelve rows; a batch over them may be sliced twice, in the struct and in a child.
class ArrowImport : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context = make_context(device());
  }
  ArrowChild key_child() { return {"key", "i", 12, 0, 0, {nullptr, keys.data()}, false}; }
  ArrowChild value_child() {
    return {"value", "s", 12, 0, -1, {validity.data(), values.data()}, false};
  }
  Answer import(ArrowBatch& batch, Relation* out) {
    gpujoin_relation* raw = nullptr;
    Answer const answer =
        call(gpujoin_relation_import, context.get(), &batch.schema, &batch.array, &raw);
    EXPECT_EQ(raw == nullptr, answer.status != GPUJOIN_OK);
    out->reset(raw);
    return answer;
  }
  // A batch that must be refused, and then still be the caller's.
  void expect_refused(ArrowBatch& batch, gpujoin_status status, const char* word) {
    Relation relation;
    EXPECT_NAMES(import(batch, &relation), status, word);
    EXPECT_NE(batch.schema.release, nullptr);
    EXPECT_NE(batch.array.release, nullptr);
    EXPECT_EQ(batch.schema_releases, 0);
    EXPECT_EQ(batch.array_releases, 0);
  }

  Context context;
  std::vector<int32_t> keys = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<int16_t> values = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
  // Rows 2, 5, 8 and 11 are NULL.
  std::vector<uint8_t> validity =
      bits_of({true, true, false, true, true, false, true, true, false, true, true, false});
};
ON_EVERY_DEVICE(ArrowImport);

}  // namespace

TEST_P(ArrowImport, ReadsSlicesOfStructAndChild) {
  // Struct rows 2..7 of children that begin at 3 (key) and at 0 (value): keys 5..10, values 20..70.
  ArrowChild key = key_child();
  key.offset = 3;
  key.length = 9;
  ArrowBatch batch({key, value_child()}, 6, 2);
  Relation relation;
  ASSERT_OK(import(batch, &relation));
  EXPECT_EQ(batch.schema.release, nullptr);
  EXPECT_EQ(batch.array.release, nullptr);
  int64_t rows = 0;
  int32_t columns = 0;
  EXPECT_OK(call(gpujoin_relation_get_size, relation.get(), &rows, &columns));
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(columns, 2);

  Table probe;
  probe.emplace_back("key", GPUJOIN_TYPE_INT32, std::vector<int32_t>{4, 5, 6, 7, 8, 9, 10, 11});
  Relation const other = make_relation(context, probe);
  Spec spec;
  spec.left_columns = {0, 1};
  spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
  Result const result = join(context, relation, other, spec);
  ASSERT_EQ(rows_of(result), 6);
  auto const found_keys = column_of<int32_t>(result, 0);
  auto const found_values = column_of<int16_t>(result, 1);
  for (size_t i = 0; i < 6; ++i) {
    int32_t const row = found_keys[i].value() - 3;  // of the value's buffer
    if (row % 3 == 2) {
      EXPECT_EQ(found_values[i], std::nullopt);
    } else {
      EXPECT_EQ(found_values[i], 10 * row);
    }
  }
  for (auto const& [left, right] : pairs_of(result)) EXPECT_EQ(left + 1, right);
}

TEST_P(ArrowImport, NullKeysOfASliceMatchNothing) {
  ArrowChild key = key_child();
  key.buffers[0] = validity.data();
  key.null_count = 4;
  ArrowBatch batch({key}, 9, 1);
  Relation relation;
  ASSERT_OK(import(batch, &relation));
  Result const result = join(context, relation, relation, Spec{});
  std::vector<std::tuple<int64_t, int64_t>> const expected = {{0, 0}, {2, 2}, {3, 3},
                                                              {5, 5}, {6, 6}, {8, 8}};
  EXPECT_EQ(pairs_of(result), expected);
}

TEST_P(ArrowImport, ReleasesOnceWhenRelationAndPlanAreGone) {
  for (bool const plan_first : {false, true}) {
    ArrowBatch batch({key_child(), value_child()}, 12);
    Relation relation;
    ASSERT_OK(import(batch, &relation));
    Plan plan = make_plan(context, relation, relation, Spec{});
    if (plan_first) {
      plan.reset();
    } else {
      relation.reset();
      EXPECT_EQ(rows_of(execute(plan)), 12);
    }
    EXPECT_EQ(batch.schema_releases, 0);
    EXPECT_EQ(batch.array_releases, 0);
    std::thread([&] {
      plan.reset();
      relation.reset();
    }).join();
    EXPECT_EQ(batch.schema_releases, 1);
    EXPECT_EQ(batch.array_releases, 1);
  }
}

TEST_P(ArrowImport, RefusesWhatIsNoRecordBatch) {
  ArrowBatch batch({key_child()}, 12);
  batch.schema.format = "i";
  expect_refused(batch, kInvalid, "format");
  batch.schema.format = "+s";
  batch.schema.n_children = 0;
  expect_refused(batch, kInvalid, "children");
  batch.schema.n_children = 1;
  batch.array.length = -1;
  expect_refused(batch, kInvalid, "length");
  batch.array.length = 12;
  batch.array.offset = -1;
  expect_refused(batch, kInvalid, "offset");
  batch.array.offset = 1;
  expect_refused(batch, kInvalid, "children[0]");  // one row short
  batch.array.offset = 0;
  batch.array.null_count = 1;
  expect_refused(batch, kInvalid, "NULL");
  batch.array.null_count = -1;
  (*batch.struct_buffers())[0] = validity.data();
  expect_refused(batch, kInvalid, "NULL");
  batch.array.length = 2;  // the first two rows are valid
  Relation relation;
  EXPECT_OK(import(batch, &relation));
}

TEST_P(ArrowImport, RefusesBrokenChildren) {
  ArrowBatch batch({key_child()}, 12);
  ArrowArray& child = *batch.child_array(0);
  child.n_buffers = 3;
  expect_refused(batch, kInvalid, "buffers");
  child.n_buffers = 2;
  child.null_count = 2;
  expect_refused(batch, kInvalid, "validity");
  child.null_count = 0;
  const void* const odd[] = {nullptr, reinterpret_cast<const char*>(keys.data()) + 1};
  const void** const buffers = child.buffers;
  child.buffers = const_cast<const void**>(odd);
  expect_refused(batch, kInvalid, "aligned");
  const void* const missing[] = {nullptr, nullptr};
  child.buffers = const_cast<const void**>(missing);
  expect_refused(batch, kInvalid, "data");
  child.buffers = buffers;
  child.length = INT64_MAX;
  child.offset = INT64_MAX;
  expect_refused(batch, kInvalid, "children[0]");
}

TEST_P(ArrowImport, RefusesTooManyRows) {
  ArrowChild key = key_child();
  key.length = int64_t{1} << 32;
  ArrowBatch batch({key}, 0xFFFFFFFF);
  expect_refused(batch, GPUJOIN_ERROR_TOO_MANY_ROWS, "length");
}

TEST_P(ArrowImport, RegistersTypesThatNoJoinMayName) {
  ArrowChild list{"list", "+l", 12, 0, 0, {nullptr, keys.data()}, false};
  ArrowChild unknown{"unknown", "x:y", 12, 0, 0, {nullptr, keys.data()}, false};
  ArrowBatch batch({key_child(), list, unknown}, 12);
  Relation relation;
  ASSERT_OK(import(batch, &relation));
  Spec spec;
  spec.left_columns = {0};
  EXPECT_EQ(rows_of(join(context, relation, relation, spec)), 12);
  struct {
    int32_t column;
    const char* words[2];
  } const unusable[] = {{1, {"list", "\"+l\""}}, {2, {"unknown", "\"x:y\""}}};
  for (auto const& [column, words] : unusable) {
    for (bool const as_key : {false, true}) {
      Spec wish;
      if (as_key) {
        wish.right_keys = {column};
      } else {
        wish.right_columns = {column};
      }
      gpujoin_join_spec const plain = wish.get();
      gpujoin_result* result = nullptr;
      Answer const answer = call(gpujoin_join, context.get(), relation.get(), relation.get(),
                                 &plain, nullptr, &result);
      EXPECT_NAMES(answer, GPUJOIN_ERROR_TYPE, words[0]);
      EXPECT_NAMES(answer, GPUJOIN_ERROR_TYPE, words[1]);
    }
  }
}

TEST_P(ArrowImport, TakesAnEmptyBatchWithoutBuffers) {
  ArrowChild key = key_child();
  key.length = 0;
  key.buffers = {nullptr, nullptr};
  ArrowBatch batch({key}, 0);
  Relation relation;
  ASSERT_OK(import(batch, &relation));
  EXPECT_EQ(rows_of(join(context, relation, relation, Spec{})), 0);
}

TEST_P(ArrowImport, KnowsTheDevicesOfTheDeviceInterface) {
  auto const import_device = [&](ArrowBatch& batch, ArrowDeviceType type, int64_t id) {
    ArrowDeviceArray device_array{};
    device_array.array = batch.array;
    device_array.device_type = type;
    device_array.device_id = id;
    gpujoin_relation* raw = nullptr;
    Answer const answer =
        call(gpujoin_relation_import_device, context.get(), &batch.schema, &device_array, &raw);
    EXPECT_EQ(device_array.array.release == nullptr, answer.status == GPUJOIN_OK);
    EXPECT_EQ(batch.schema.release == nullptr, answer.status == GPUJOIN_OK);
    Relation const relation(raw);
    if (raw != nullptr) {
      EXPECT_EQ(rows_of(join(context, relation, relation, Spec{})), 12);
    }
    return answer;
  };
  ArrowBatch batch({key_child()}, 12);
  EXPECT_OK(import_device(batch, ARROW_DEVICE_CPU, -1));
  EXPECT_EQ(batch.array_releases, 1);
  EXPECT_EQ(batch.schema_releases, 1);
  ArrowBatch other({key_child()}, 12);
  EXPECT_NAMES(import_device(other, 4, 0), GPUJOIN_ERROR_UNSUPPORTED, "device_type");
  EXPECT_STATUS(import_device(other, ARROW_DEVICE_CUDA, 1000), GPUJOIN_ERROR_UNSUPPORTED);
  if (device() == GPUJOIN_DEVICE_CPU) {
    EXPECT_STATUS(import_device(other, ARROW_DEVICE_CUDA, 0), GPUJOIN_ERROR_UNSUPPORTED);
    EXPECT_STATUS(import_device(other, ARROW_DEVICE_CUDA_MANAGED, 0), GPUJOIN_ERROR_UNSUPPORTED);
  }
  EXPECT_EQ(other.array_releases, 0);
}
