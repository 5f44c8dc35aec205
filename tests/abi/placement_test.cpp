// placement_test.cpp: columns wherever and however aligned they lie: host, device, page-locked; at
// odd validity bytes and bits; 16-byte values at half their width.
#include <array>
#include <cstring>

#include "tests/abi/arrow_batch.hpp"
#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int64_t kRows = 1000;
constexpr int64_t kFirstBit = 13;  // the validity begins in the middle of its second byte

// Where a column's bytes are put.
enum class Place { kHost, kPinned, kDevice };

// Bytes at a chosen place, `shift` bytes after an aligned address.
class PlacedBytes {
 public:
  PlacedBytes(Place place, size_t shift, const std::vector<uint8_t>& contents) : place_(place) {
    std::vector<uint8_t> shifted(shift);
    shifted.insert(shifted.end(), contents.begin(), contents.end());
    if (place == Place::kDevice) {
      device_ = std::make_unique<DeviceMemory>(shifted);
      address_ = static_cast<uint8_t*>(device_->get()) + shift;
    } else {
      pinned_ = place == Place::kPinned ? allocate_pinned(shifted.size()) : nullptr;
      host_.resize(place == Place::kHost ? shifted.size() / 16 + 1 : 0);
      void* first = place == Place::kPinned ? pinned_ : host_.data();
      std::memcpy(first, shifted.data(), shifted.size());
      address_ = static_cast<uint8_t*>(first) + shift;
    }
  }
  ~PlacedBytes() {
    if (pinned_ != nullptr) free_pinned(pinned_);
  }
  PlacedBytes(const PlacedBytes&) = delete;
  PlacedBytes& operator=(const PlacedBytes&) = delete;
  const uint8_t* get() const { return address_; }

 private:
  struct alignas(16) Unit {
    std::array<uint8_t, 16> bytes;
  };
  Place place_;
  std::vector<Unit> host_;
  std::unique_ptr<DeviceMemory> device_;
  void* pinned_ = nullptr;
  uint8_t* address_ = nullptr;
};

template <typename Value>
std::vector<uint8_t> bytes_of(const std::vector<Value>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(Value));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A relation of 1000 rows: key i (every seventh NULL), 16 bytes that hold i twice (every fifth
// NULL), one byte i.
class Placed {
 public:
  Placed(const Context& context, Place place, gpujoin_memory declared)
      : key_(place, 4, key_bytes()),
        key_validity_(place, 1, validity_bytes(7)),
        wide_(place, 8, wide_bytes()),
        wide_validity_(place, 3, validity_bytes(5)),
        narrow_(place, 1, narrow_bytes()) {
    columns_[0] = column(GPUJOIN_TYPE_INT32, key_.get(), key_validity_.get(), declared);
    columns_[1] = column(GPUJOIN_TYPE_BYTES16, wide_.get(), wide_validity_.get(), declared);
    columns_[2] = column(GPUJOIN_TYPE_INT8, narrow_.get(), nullptr, declared);
    gpujoin_relation* raw = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context.get(), kRows, columns_.data(), 3, &raw));
    relation.reset(raw);
  }
  Relation relation;

 private:
  static gpujoin_column column(gpujoin_type type, const void* data, const uint8_t* validity,
                               gpujoin_memory memory) {
    gpujoin_column described = GPUJOIN_COLUMN_INIT;
    described.type = type;
    described.data = data;
    described.validity = validity;
    described.validity_bit_offset = kFirstBit;
    described.memory = memory;
    return described;
  }
  static std::vector<uint8_t> key_bytes() {
    std::vector<int32_t> keys;
    for (int32_t i = 0; i < kRows; ++i) keys.push_back(i);
    return bytes_of(keys);
  }
  static std::vector<uint8_t> wide_bytes() {
    std::vector<int64_t> halves;
    for (int64_t i = 0; i < kRows; ++i) halves.insert(halves.end(), 2, i);
    return bytes_of(halves);
  }
  static std::vector<uint8_t> narrow_bytes() {
    std::vector<uint8_t> bytes;
    for (int32_t i = 0; i < kRows; ++i) bytes.push_back(static_cast<uint8_t>(i));
    return bytes;
  }
  static std::vector<uint8_t> validity_bytes(int64_t null_every) {
    std::vector<bool> valid(kFirstBit, false);
    for (int64_t i = 0; i < kRows; ++i) valid.push_back(i % null_every != 0);
    return bits_of(valid);
  }

  PlacedBytes key_, key_validity_, wide_, wide_validity_, narrow_;
  std::array<gpujoin_column, 3> columns_;
};

void expect_self_join(const Result& result) {
  ASSERT_NE(result, nullptr);
  constexpr int64_t kValidKeys = kRows - (kRows + 6) / 7;
  ASSERT_EQ(rows_of(result), kValidKeys);
  auto const keys = column_of<int32_t>(result, 0);
  auto const left_wide = column_of<std::array<int64_t, 2>>(result, 1);
  auto const right_wide = column_of<std::array<int64_t, 2>>(result, 2);
  auto const narrow = column_of<uint8_t>(result, 3);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(keys[i].has_value());
    int32_t const key = *keys[i];
    ASSERT_NE(key % 7, 0);
    ASSERT_EQ(left_wide[i].has_value(), key % 5 != 0);
    ASSERT_EQ(right_wide[i].has_value(), key % 5 != 0);
    if (key % 5 != 0) {
      std::array<int64_t, 2> const expected = {key, key};
      ASSERT_EQ(*left_wide[i], expected);
      ASSERT_EQ(*right_wide[i], expected);
    }
    ASSERT_EQ(narrow[i], static_cast<uint8_t>(key));
  }
}

class Placement : public DeviceTest {
 protected:
  Spec spec = [] {
    Spec wide;
    wide.left_columns = {0, 1};
    wide.right_columns = {1, 2};
    return wide;
  }();
  std::vector<gpujoin_algorithm> algorithms() const {
    if (device() == GPUJOIN_DEVICE_CPU) return {GPUJOIN_ALGORITHM_AUTOMATIC};
    return {GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_NOP,    GPUJOIN_ALGORITHM_PHJ_OM,
            GPUJOIN_ALGORITHM_PHJ_GFUR,  GPUJOIN_ALGORITHM_SMJ_OM, GPUJOIN_ALGORITHM_SMJ_UM};
  }
  void expect_every_algorithm(const Context& context, const Relation& left, const Relation& right) {
    for (gpujoin_algorithm const algorithm : algorithms()) {
      SCOPED_TRACE(algorithm);
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.algorithm = algorithm;
      expect_self_join(join(context, left, right, spec, &options));
    }
  }
};
ON_EVERY_DEVICE(Placement);

}  // namespace

TEST_P(Placement, InHostMemory) {
  Context const context = make_context(device());
  Placed const table(context, Place::kHost, GPUJOIN_MEMORY_HOST);
  Placed const automatic(context, Place::kHost, GPUJOIN_MEMORY_AUTOMATIC);
  expect_every_algorithm(context, table.relation, automatic.relation);
}

TEST_P(Placement, InPinnedMemory) {
  if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
  Context const context = make_context(device());
  Placed const table(context, Place::kPinned, GPUJOIN_MEMORY_PINNED);
  Placed const automatic(context, Place::kPinned, GPUJOIN_MEMORY_AUTOMATIC);
  expect_every_algorithm(context, table.relation, automatic.relation);
}

TEST_P(Placement, InDeviceMemory) {
  if (device() == GPUJOIN_DEVICE_CPU) return;  // ColumnsHaveRanges says that it is refused
  Context const context = make_context(device());
  Placed const table(context, Place::kDevice, GPUJOIN_MEMORY_DEVICE);
  Placed const automatic(context, Place::kDevice, GPUJOIN_MEMORY_AUTOMATIC);
  expect_every_algorithm(context, table.relation, automatic.relation);
}

TEST_P(Placement, OneSideInEachMemory) {
  if (device() == GPUJOIN_DEVICE_CPU) return;
  Context const context = make_context(device());
  Placed const on_device(context, Place::kDevice, GPUJOIN_MEMORY_AUTOMATIC);
  Placed const on_host(context, Place::kHost, GPUJOIN_MEMORY_AUTOMATIC);
  expect_every_algorithm(context, on_device.relation, on_host.relation);
  expect_every_algorithm(context, on_host.relation, on_device.relation);
}

TEST_P(Placement, DeviceColumnsAreChecked) {
  if (device() == GPUJOIN_DEVICE_CPU) return;
  Context const context = make_context(device());
  DeviceMemory const values(4 * kRows);
  std::vector<uint8_t> host_bits(kRows);
  std::vector<int32_t> host_values(kRows);
  auto const with = [&](auto change) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = GPUJOIN_TYPE_INT32;
    column.data = values.get();
    column.memory = GPUJOIN_MEMORY_DEVICE;
    change(column);
    gpujoin_relation* raw = nullptr;
    Answer const answer = call(gpujoin_relation_create, context.get(), kRows, &column, 1, &raw);
    gpujoin_relation_destroy(raw);
    return answer;
  };
  constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
  EXPECT_OK(with([](auto&) {}));
  EXPECT_NAMES(with([](auto& c) { c.cuda_device_id = 1; }), kInvalid, "cuda_device_id");
  EXPECT_NAMES(with([&](auto& c) { c.data = host_values.data(); }), kInvalid, "columns[0].data");
  EXPECT_NAMES(with([&](auto& c) { c.validity = host_bits.data(); }), kInvalid, "validity");
  EXPECT_NAMES(with([&](auto& c) {
                 c.validity = host_bits.data();
                 c.memory = GPUJOIN_MEMORY_AUTOMATIC;
               }),
               kInvalid, "device memory");
}

TEST_P(Placement, ACpuPlanCannotReadDeviceMemory) {
  if (device() == GPUJOIN_DEVICE_CPU) return;
  Context const context = make_context(device());
  Placed const on_device(context, Place::kDevice, GPUJOIN_MEMORY_DEVICE);
  Placed const on_host(context, Place::kHost, GPUJOIN_MEMORY_HOST);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  gpujoin_join_spec const plain = spec.get();
  gpujoin_plan* plan = nullptr;
  EXPECT_STATUS(call(gpujoin_plan_create, context.get(), on_host.relation.get(),
                     on_device.relation.get(), &plain, &options, &plan),
                GPUJOIN_ERROR_UNSUPPORTED);
  // On a CUDA context the CPU joins what lies on the host.
  Result const result = join(context, on_host.relation, on_host.relation, spec, &options);
  expect_self_join(result);
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_EQ(statistics.device, GPUJOIN_DEVICE_CPU);
}

TEST_P(Placement, WaitsForTheEventOfADeviceArray) {
  if (device() == GPUJOIN_DEVICE_CPU) return;
  Context const context = make_context(device());
  std::vector<int32_t> keys(100);
  for (int32_t i = 0; i < 100; ++i) keys[static_cast<size_t>(i)] = i;
  DeviceMemory const values(bytes_of(keys));
  RecordedEvent event;
  ArrowBatch batch({{"key", "i", 100, 0, 0, {nullptr, values.get()}, false}}, 100);
  ArrowDeviceArray array{};
  array.array = batch.array;
  array.device_type = ARROW_DEVICE_CUDA;
  array.sync_event = event.get();
  gpujoin_relation* raw = nullptr;
  ASSERT_OK(call(gpujoin_relation_import_device, context.get(), &batch.schema, &array, &raw));
  Relation relation(raw);
  EXPECT_EQ(rows_of(join(context, relation, relation, Spec{})), 100);
  relation.reset();
  EXPECT_EQ(batch.array_releases, 1);
}
