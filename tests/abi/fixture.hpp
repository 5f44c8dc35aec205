// fixture.hpp: what the tests of the shared library have in common: owners of handles, tables that
// keep their memory, and a suite that runs once a device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gpujoin.h"

namespace gpujoin_test {

template <auto Destroy>
struct Destroyer {
  template <typename Handle>
  void operator()(Handle* handle) const {
    Destroy(handle);
  }
};
using Context = std::unique_ptr<gpujoin_context, Destroyer<gpujoin_context_destroy>>;
using Relation = std::unique_ptr<gpujoin_relation, Destroyer<gpujoin_relation_destroy>>;
using Plan = std::unique_ptr<gpujoin_plan, Destroyer<gpujoin_plan_destroy>>;
using Result = std::unique_ptr<gpujoin_result, Destroyer<gpujoin_result_destroy>>;
using Build = std::unique_ptr<gpujoin_build, Destroyer<gpujoin_build_destroy>>;
using KeyFilter = std::unique_ptr<gpujoin_key_filter, Destroyer<gpujoin_key_filter_destroy>>;
using Operation = std::unique_ptr<gpujoin_operation, Destroyer<gpujoin_operation_destroy>>;
using Probe = std::unique_ptr<gpujoin_probe, Destroyer<gpujoin_probe_destroy>>;

// A call's status together with its message, so that a failed expectation says why.
struct Answer {
  gpujoin_status status = GPUJOIN_OK;
  gpujoin_error error{};
  std::string message() const { return status == GPUJOIN_OK ? "" : error.message; }
};
testing::AssertionResult is(const Answer& answer, gpujoin_status expected);
// The status, and a message that holds `word`: the name of the argument.
testing::AssertionResult names(const Answer& answer, gpujoin_status expected, const char* word);

#define EXPECT_OK(answer) EXPECT_TRUE(is((answer), GPUJOIN_OK))
#define ASSERT_OK(answer) ASSERT_TRUE(is((answer), GPUJOIN_OK))
#define EXPECT_STATUS(answer, status) EXPECT_TRUE(is((answer), (status)))
#define EXPECT_NAMES(answer, status, word) EXPECT_TRUE(names((answer), (status), (word)))

// Any ABI function, its error parameter supplied.
template <typename Function, typename... Arguments>
Answer call(Function function, Arguments... arguments) {
  Answer answer;
  answer.status = function(arguments..., &answer.error);
  return answer;
}

// A column that owns its values. Rows without a value are NULL.
class Column {
 public:
  template <typename Value>
  Column(std::string name, gpujoin_type type, const std::vector<std::optional<Value>>& values)
      : name_(std::move(name)), type_(type), width_(sizeof(Value)) {
    for (auto const& value : values) append(value.has_value(), value ? &*value : nullptr);
  }
  template <typename Value>
  Column(std::string name, gpujoin_type type, const std::vector<Value>& values)
      : name_(std::move(name)), type_(type), width_(sizeof(Value)) {
    for (Value const& value : values) append(true, &value);
  }
  // Raw bytes, `width` a row; nullptr is NULL.
  Column(std::string name, gpujoin_type type, size_t width)
      : name_(std::move(name)), type_(type), width_(width) {}
  void append(bool valid, const void* value);

  gpujoin_column descriptor() const;
  int64_t rows() const { return rows_; }
  size_t width() const { return width_; }
  const void* data() const { return data_.data(); }
  const uint8_t* validity() const { return null_count_ == 0 ? nullptr : validity_.data(); }
  int64_t null_count() const { return null_count_; }

 private:
  std::string name_;
  gpujoin_type type_;
  size_t width_;
  int64_t rows_ = 0;
  int64_t null_count_ = 0;
  std::vector<uint8_t> data_;
  std::vector<uint8_t> validity_;
};
using Table = std::vector<Column>;

Context make_context(gpujoin_device device);
Context make_context(const gpujoin_context_options& options);
// The table must outlive the relation.
Relation make_relation(const Context& context, const Table& table);

// A specification that owns its lists.
struct Spec {
  gpujoin_join_kind kind = GPUJOIN_JOIN_INNER;
  std::vector<int32_t> left_keys = {0};
  std::vector<int32_t> right_keys = {0};
  std::vector<int32_t> left_columns;
  std::vector<int32_t> right_columns;
  int32_t output = 0;
  gpujoin_join_spec get() const;
};

// Each fails the test when the call fails, and answers with null then.
Plan make_plan(const Context& context, const Relation& left, const Relation& right,
               const Spec& spec, const gpujoin_plan_options* options = nullptr);
// What planning answers, which makes a plan where that is no error.
Answer try_plan(const Context& context, const Relation& left, const Relation& right,
                const gpujoin_join_spec* spec, const gpujoin_plan_options* options = nullptr);
Result execute(const Plan& plan);
Result join(const Context& context, const Relation& left, const Relation& right, const Spec& spec,
            const gpujoin_plan_options* options = nullptr);
int64_t rows_of(const Result& result);

// The pairs of a result made with GPUJOIN_OUTPUT_PAIRS, sorted.
std::vector<std::tuple<int64_t, int64_t>> pairs_of(const Result& result);

// A column of the whole result: one optional a row.
template <typename Value>
std::vector<std::optional<Value>> column_of(const Result& result, int32_t column) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<Value> values(rows);
  std::vector<uint8_t> validity((rows + 7) / 8);
  gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
  fetch.what = GPUJOIN_FETCH_COLUMN;
  fetch.column = column;
  fetch.data = values.data();
  fetch.data_bytes = rows * sizeof(Value);
  fetch.validity = validity.data();
  fetch.validity_bytes = validity.size();
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
  std::vector<std::optional<Value>> out(rows);
  for (size_t i = 0; i < rows; ++i) {
    if ((validity[i / 8] >> (i % 8) & 1) != 0) out[i] = values[i];
  }
  return out;
}

gpujoin_fetch fetch_of(int32_t what, int32_t column, void* data, uint64_t data_bytes);

// Why CUDA cannot be used here; empty when it can.
const std::string& why_no_cuda();

// Runs each of its tests on the CPU and on CUDA, where a test is skipped when there is none.
class DeviceTest : public testing::TestWithParam<gpujoin_device> {
 protected:
  void SetUp() override;
  gpujoin_device device() const { return GetParam(); }
  gpujoin_context_options options() const;
};
std::string device_name(const testing::TestParamInfo<gpujoin_device>& info);

#define ON_EVERY_DEVICE(Suite)                                                                  \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::Values(GPUJOIN_DEVICE_CPU, GPUJOIN_DEVICE_CUDA), \
                           device_name)

// 0, 1, ... rows - 1 modulo `distinct`, as a table of a 4-byte key and an 8-byte payload.
Table counting_table(int64_t rows, int64_t distinct);

}  // namespace gpujoin_test
