// garbage_arrow_test.cpp: every field of an imported record batch, with values that no producer
// should put there. Each is refused by name, and the batch stays the caller's.
#include "tests/abi/arrow_batch.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int64_t kRows = 12;

// A batch of a key, a nullable value and a text, in the form of the device interface.
struct Batch {
  ArrowBatch parts;
  ArrowDeviceArray device{};

  ArrowSchema& schema() { return parts.schema; }
  ArrowArray& array() { return device.array; }
  ArrowSchema& child_schema(size_t i) { return *parts.child_schema(i); }
  ArrowArray& child(size_t i) { return *parts.child_array(i); }

  explicit Batch(std::vector<ArrowChild> children) : parts(std::move(children), kRows) {
    device.array = parts.array;
    device.device_id = -1;
    device.device_type = ARROW_DEVICE_CPU;
  }
};

struct Garbage {
  void (*put)(Batch&);
  gpujoin_status status;
  const char* word;
};

class GarbageArrow : public testing::Test {
 protected:
  Batch make_batch() const {
    return Batch({{"key", "i", kRows, 0, 0, {nullptr, keys.data()}, false},
                  {"value", "s", kRows, 0, -1, {validity.data(), values.data()}, false},
                  {"text", "u", kRows, 0, 0, {nullptr, keys.data(), keys.data()}, false}});
  }
  Answer import(Batch& batch) {
    gpujoin_relation* out = nullptr;
    Answer const answer =
        call(gpujoin_relation_import_device, context.get(), &batch.schema(), &batch.device, &out);
    EXPECT_EQ(out == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_relation_destroy(out);
    return answer;
  }
  void expect_refused(const Garbage& garbage) {
    Batch batch = make_batch();
    garbage.put(batch);
    bool const schema_was_there = batch.schema().release != nullptr;
    bool const array_was_there = batch.array().release != nullptr;
    EXPECT_NAMES(import(batch), garbage.status, garbage.word);
    EXPECT_EQ(batch.schema().release != nullptr, schema_was_there);
    EXPECT_EQ(batch.array().release != nullptr, array_was_there);
    EXPECT_EQ(batch.parts.schema_releases, 0);
    EXPECT_EQ(batch.parts.array_releases, 0);
    if (batch.device.device_type != ARROW_DEVICE_CPU || batch.device.sync_event != nullptr) return;
    if (batch.device.reserved[0] != 0 || batch.device.reserved[2] != 0) return;
    // The same by the interface without devices.
    gpujoin_relation* out = nullptr;
    EXPECT_NAMES(
        call(gpujoin_relation_import, context.get(), &batch.schema(), &batch.array(), &out),
        garbage.status, garbage.word);
    EXPECT_EQ(out, nullptr);
  }

  Context context = make_context(GPUJOIN_DEVICE_CPU);
  std::vector<int32_t> keys = std::vector<int32_t>(kRows + 1, 3);
  std::vector<int16_t> values = std::vector<int16_t>(kRows, 7);
  std::vector<uint8_t> validity = {0xDB, 0x06};
};

// Where a pointer may point to that must not be followed.
const void* const kNoData[] = {nullptr, nullptr};
const void* const kOddData[] = {nullptr, reinterpret_cast<const char*>(kNoData) + 1};
ArrowSchema* no_schemas[] = {nullptr, nullptr, nullptr};
ArrowArray* no_arrays[] = {nullptr, nullptr, nullptr};
ArrowSchema other_schema{};
ArrowArray other_array{};

}  // namespace

TEST_F(GarbageArrow, IsNoneInABatchThatIsRight) {
  Batch batch = make_batch();
  EXPECT_OK(import(batch));
  EXPECT_EQ(batch.parts.array_releases, 1);
}

TEST_F(GarbageArrow, OfTheSchema) {
  static const Garbage kTable[] = {
      {[](Batch& b) { b.schema().release = nullptr; }, kInvalid, "schema was released"},
      {[](Batch& b) { b.schema().format = nullptr; }, kInvalid, "format"},
      {[](Batch& b) { b.schema().format = ""; }, kInvalid, "format"},
      {[](Batch& b) { b.schema().format = "+l"; }, kInvalid, "format"},
      {[](Batch& b) { b.schema().n_children = -1; }, kInvalid, "children"},
      {[](Batch& b) { b.schema().n_children = 2; }, kInvalid, "children"},
      {[](Batch& b) { b.schema().n_children = INT64_MAX; }, kInvalid, "children"},
      {[](Batch& b) { b.schema().children = nullptr; }, kInvalid, "schema.children"},
      {[](Batch& b) { b.schema().children = no_schemas; }, kInvalid, "schema.children[0]"},
      {[](Batch& b) { b.schema().dictionary = &other_schema; }, kInvalid, "dictionary"},
      {[](Batch& b) { b.child_schema(1).release = nullptr; }, kInvalid, "schema.children[1]"},
      {[](Batch& b) { b.child_schema(1).format = nullptr; }, kInvalid, "schema.children[1].format"},
      {[](Batch& b) { b.child_schema(0).n_children = -1; }, kInvalid, "schema.children[0]"},
      {[](Batch& b) { b.child_schema(0).n_children = 1; }, kInvalid, "schema.children[0]"},
      {[](Batch& b) { b.child_schema(0).dictionary = &other_schema; }, kInvalid, "dictionary"},
  };
  for (const Garbage& garbage : kTable) {
    SCOPED_TRACE(&garbage - kTable);
    expect_refused(garbage);
  }
}

TEST_F(GarbageArrow, OfTheArray) {
  constexpr int32_t kTooMany = GPUJOIN_ERROR_TOO_MANY_ROWS;
  static const Garbage kTable[] = {
      {[](Batch& b) { b.array().release = nullptr; }, kInvalid, "array was released"},
      {[](Batch& b) { b.array().length = -1; }, kInvalid, "length"},
      {[](Batch& b) { b.array().length = INT64_MIN; }, kInvalid, "length"},
      {[](Batch& b) { b.array().length = INT64_MAX; }, kInvalid, "length"},
      {[](Batch& b) { b.array().length = int64_t{1} << 33; }, kTooMany, "length"},
      {[](Batch& b) { b.array().length = kRows + 1; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.array().offset = -1; }, kInvalid, "offset"},
      {[](Batch& b) { b.array().offset = INT64_MAX; }, kInvalid, "offset"},
      {[](Batch& b) { b.array().offset = INT64_MAX - kRows + 1; }, kInvalid, "offset"},
      {[](Batch& b) { b.array().offset = 1; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.array().null_count = -7; }, kInvalid, "array.null_count"},
      {[](Batch& b) { b.array().null_count = INT64_MIN; }, kInvalid, "array.null_count"},
      {[](Batch& b) { b.array().null_count = kRows + 1; }, kInvalid, "array.null_count"},
      {[](Batch& b) { b.array().null_count = 1; }, kInvalid, "NULL"},
      {[](Batch& b) { b.array().n_buffers = -1; }, kInvalid, "buffers"},
      {[](Batch& b) { b.array().n_buffers = 0; }, kInvalid, "buffers"},
      {[](Batch& b) { b.array().n_buffers = 2; }, kInvalid, "buffers"},
      {[](Batch& b) { b.array().n_buffers = INT64_MAX; }, kInvalid, "buffers"},
      {[](Batch& b) { b.array().buffers = nullptr; }, kInvalid, "array.buffers"},
      {[](Batch& b) { b.array().n_children = -1; }, kInvalid, "children"},
      {[](Batch& b) { b.array().n_children = 4; }, kInvalid, "children"},
      {[](Batch& b) { b.array().children = nullptr; }, kInvalid, "array.children"},
      {[](Batch& b) { b.array().children = no_arrays; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.array().dictionary = &other_array; }, kInvalid, "dictionary"},
  };
  for (const Garbage& garbage : kTable) {
    SCOPED_TRACE(&garbage - kTable);
    expect_refused(garbage);
  }
}

TEST_F(GarbageArrow, OfAChildsArray) {
  static const Garbage kTable[] = {
      {[](Batch& b) { b.child(1).release = nullptr; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).length = -1; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).length = INT64_MAX; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).length = kRows - 1; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).offset = -1; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).offset = INT64_MIN; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).offset = INT64_MAX; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).null_count = -7; }, kInvalid, "array.children[1].null_count"},
      {[](Batch& b) { b.child(1).null_count = kRows + 1; }, kInvalid,
       "array.children[1].null_count"},
      {[](Batch& b) { b.child(0).null_count = 1; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.child(1).n_buffers = -1; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).n_buffers = 1; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).n_buffers = INT64_MAX; }, kInvalid, "array.children[1]"},
      {[](Batch& b) { b.child(1).buffers = nullptr; }, kInvalid, "array.children[1].buffers"},
      {[](Batch& b) { b.child(1).buffers = const_cast<const void**>(kNoData); }, kInvalid,
       "array.children[1]"},
      {[](Batch& b) { b.child(1).buffers = const_cast<const void**>(kOddData); }, kInvalid,
       "array.children[1]"},
      {[](Batch& b) { b.child(0).n_children = -1; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.child(0).n_children = INT64_MAX; }, kInvalid, "array.children[0]"},
      {[](Batch& b) { b.child(0).dictionary = &other_array; }, kInvalid, "dictionary"},
      // Of a type that no join may name, too.
      {[](Batch& b) { b.child(2).n_children = 1; }, kInvalid, "array.children[2]"},
      {[](Batch& b) { b.child(2).null_count = -2; }, kInvalid, "array.children[2].null_count"},
      {[](Batch& b) {
         b.child_schema(0).n_children = 1;
         b.child(0).n_children = 1;
       },
       kInvalid, "children[0].children"},
  };
  for (const Garbage& garbage : kTable) {
    SCOPED_TRACE(&garbage - kTable);
    expect_refused(garbage);
  }
}

TEST_F(GarbageArrow, OfTheDeviceArray) {
  constexpr int32_t kUnsupported = GPUJOIN_ERROR_UNSUPPORTED;
  static const Garbage kTable[] = {
      {[](Batch& b) { b.device.device_type = 0; }, kUnsupported, "array.device_type"},
      {[](Batch& b) { b.device.device_type = -1; }, kUnsupported, "array.device_type"},
      {[](Batch& b) { b.device.device_type = INT32_MAX; }, kUnsupported, "array.device_type"},
      {[](Batch& b) { b.device.device_type = ARROW_DEVICE_CUDA; }, kUnsupported,
       "array.device_type"},
      {[](Batch& b) { b.device.sync_event = &b; }, kInvalid, "array.sync_event"},
      {[](Batch& b) { b.device.reserved[0] = 1; }, kInvalid, "array.reserved"},
      {[](Batch& b) { b.device.reserved[2] = -1; }, kInvalid, "array.reserved"},
  };
  for (const Garbage& garbage : kTable) {
    SCOPED_TRACE(&garbage - kTable);
    expect_refused(garbage);
  }
}

TEST_F(GarbageArrow, NamesMayBeMissing) {
  Batch batch = make_batch();
  batch.schema().name = nullptr;
  batch.schema().metadata = nullptr;
  batch.child_schema(0).name = nullptr;
  EXPECT_OK(import(batch));
}
