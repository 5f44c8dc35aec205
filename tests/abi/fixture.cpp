#include <algorithm>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

testing::AssertionResult is(const Answer& answer, gpujoin_status expected) {
  if (answer.status == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "answered " << gpujoin_status_name(answer.status) << ", expected "
         << gpujoin_status_name(expected) << ": " << answer.message();
}

testing::AssertionResult names(const Answer& answer, gpujoin_status expected, const char* word) {
  if (testing::AssertionResult result = is(answer, expected); !result) return result;
  if (answer.error.status != expected) {
    return testing::AssertionFailure() << "error.status is " << answer.error.status;
  }
  if (answer.message().find(word) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << answer.message() << "\" does not name " << word;
}

void Column::append(bool valid, const void* value) {
  auto const* bytes = static_cast<const uint8_t*>(value);
  if (value != nullptr) {
    data_.insert(data_.end(), bytes, bytes + width_);
  } else {
    data_.insert(data_.end(), width_, 0xAB);  // what lies under a NULL must not matter
  }
  if (rows_ % 8 == 0) validity_.push_back(0);
  if (valid) {
    validity_.back() = static_cast<uint8_t>(validity_.back() | 1u << (rows_ % 8));
  } else {
    ++null_count_;
  }
  ++rows_;
}

gpujoin_column Column::descriptor() const {
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.type = type_;
  column.data = data_.data();
  column.validity = validity();
  column.name = name_.c_str();
  return column;
}

Context make_context(gpujoin_device device) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  return make_context(options);
}

Context make_context(const gpujoin_context_options& options) {
  gpujoin_context* context = nullptr;
  EXPECT_OK(call(gpujoin_context_create, &options, &context));
  return Context(context);
}

Relation make_relation(const Context& context, const Table& table) {
  std::vector<gpujoin_column> columns;
  for (const Column& column : table) columns.push_back(column.descriptor());
  gpujoin_relation* relation = nullptr;
  EXPECT_OK(call(gpujoin_relation_create, context.get(), table.empty() ? 0 : table[0].rows(),
                 columns.data(), static_cast<int32_t>(columns.size()), &relation));
  return Relation(relation);
}

gpujoin_join_spec Spec::get() const {
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = kind;
  spec.key_count = static_cast<int32_t>(left_keys.size());
  spec.output = output;
  spec.left_keys = left_keys.data();
  spec.right_keys = right_keys.data();
  spec.left_columns = left_columns.data();
  spec.right_columns = right_columns.data();
  spec.left_column_count = static_cast<int32_t>(left_columns.size());
  spec.right_column_count = static_cast<int32_t>(right_columns.size());
  return spec;
}

Plan make_plan(const Context& context, const Relation& left, const Relation& right,
               const Spec& spec, const gpujoin_plan_options* options) {
  gpujoin_join_spec const plain = spec.get();
  gpujoin_plan* plan = nullptr;
  EXPECT_OK(
      call(gpujoin_plan_create, context.get(), left.get(), right.get(), &plain, options, &plan));
  return Plan(plan);
}

Answer try_plan(const Context& context, const Relation& left, const Relation& right,
                const gpujoin_join_spec* spec, const gpujoin_plan_options* options) {
  gpujoin_plan* plan = nullptr;
  Answer const answer =
      call(gpujoin_plan_create, context.get(), left.get(), right.get(), spec, options, &plan);
  EXPECT_EQ(plan == nullptr, answer.status != GPUJOIN_OK);
  gpujoin_plan_destroy(plan);
  return answer;
}

Result execute(const Plan& plan) {
  gpujoin_result* result = nullptr;
  EXPECT_OK(call(gpujoin_plan_execute, plan.get(), &result));
  return Result(result);
}

Result join(const Context& context, const Relation& left, const Relation& right, const Spec& spec,
            const gpujoin_plan_options* options) {
  gpujoin_join_spec const plain = spec.get();
  gpujoin_result* result = nullptr;
  EXPECT_OK(call(gpujoin_join, context.get(), left.get(), right.get(), &plain, options, &result));
  return Result(result);
}

int64_t rows_of(const Result& result) {
  int64_t rows = 0;
  EXPECT_OK(call(gpujoin_result_get_rows, result.get(), &rows));
  return rows;
}

std::vector<std::tuple<int64_t, int64_t>> pairs_of(const Result& result) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<int64_t> left(rows);
  std::vector<uint32_t> right(rows);
  gpujoin_fetch fetches[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, left.data(), rows * 8),
                             fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, right.data(), rows * 4)};
  fetches[1].type = GPUJOIN_TYPE_UINT32;
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, fetches, 2));
  std::vector<std::tuple<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < rows; ++i) pairs.emplace_back(left[i], right[i]);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

gpujoin_fetch fetch_of(int32_t what, int32_t column, void* data, uint64_t data_bytes) {
  gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
  fetch.what = what;
  fetch.column = column;
  fetch.data = data;
  fetch.data_bytes = data_bytes;
  return fetch;
}

const std::string& why_no_cuda() {
  static const std::string reason = [] {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CUDA;
    gpujoin_context* context = nullptr;
    Answer const answer = call(gpujoin_context_create, &options, &context);
    gpujoin_context_destroy(context);
    return answer.message();
  }();
  return reason;
}

void DeviceTest::SetUp() {
  if (device() == GPUJOIN_DEVICE_CUDA && !why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
}

gpujoin_context_options DeviceTest::options() const {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device();
  return options;
}

std::string device_name(const testing::TestParamInfo<gpujoin_device>& info) {
  return info.param == GPUJOIN_DEVICE_CUDA ? "Cuda" : "Cpu";
}

Table counting_table(int64_t rows, int64_t distinct) {
  std::vector<int32_t> keys;
  std::vector<int64_t> payloads;
  for (int64_t row = 0; row < rows; ++row) {
    keys.push_back(static_cast<int32_t>(row % distinct));
    payloads.push_back(row);
  }
  Table table;
  table.emplace_back("key", GPUJOIN_TYPE_INT32, keys);
  table.emplace_back("payload", GPUJOIN_TYPE_INT64, payloads);
  return table;
}

}  // namespace gpujoin_test
