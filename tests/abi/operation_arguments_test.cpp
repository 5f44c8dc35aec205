// What builds, operations and probes answer to arguments that cannot be right, and that they are as
// before then.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {
namespace {

constexpr gpujoin_status kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr std::array<int32_t, 1> kKey = {0};
constexpr std::array<int32_t, 1> kOther = {1};

class OperationArguments : public testing::Test {
 protected:
  OperationArguments() {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    gpujoin_context* made = nullptr;
    EXPECT_OK(call(gpujoin_context_create, &options, &made));
    context_.reset(made);
    rows_ = relation(2);
    narrow_ = relation(1);
    spec_.kind = GPUJOIN_JOIN_INNER;
    spec_.key_count = 1;
    spec_.left_keys = spec_.right_keys = kKey.data();
    spec_.left_columns = spec_.right_columns = kOther.data();
    spec_.left_column_count = spec_.right_column_count = 1;
  }

  Relation relation(int32_t columns) {
    std::vector<gpujoin_column> all(static_cast<size_t>(columns), GPUJOIN_COLUMN_INIT);
    for (gpujoin_column& column : all) {
      column.name = "c";
      column.type = GPUJOIN_TYPE_INT32;
      column.data = values_.data();
    }
    gpujoin_relation* made = nullptr;
    EXPECT_OK(
        call(gpujoin_relation_create, context_.get(), int64_t{3}, all.data(), columns, &made));
    return Relation(made);
  }

  Answer create(Build* build, const gpujoin_build_options* options = nullptr) {
    gpujoin_build* made = nullptr;
    Answer const answer = call(gpujoin_build_create, context_.get(), rows_.get(), kKey.data(), 1,
                               static_cast<const int32_t*>(nullptr), options, &made);
    build->reset(made);
    return answer;
  }
  Build finished() {
    Build build;
    EXPECT_OK(create(&build));
    EXPECT_OK(call(gpujoin_build_append, build.get(), rows_.get(), int64_t{0}));
    EXPECT_OK(call(gpujoin_build_finish, build.get()));
    return build;
  }
  Answer operate(gpujoin_build* build, Operation* operation,
                 const gpujoin_operation_options* options = nullptr) {
    gpujoin_operation* made = nullptr;
    Answer const answer =
        call(gpujoin_operation_create, build, rows_.get(), &spec_, options, &made);
    operation->reset(made);
    return answer;
  }

  std::array<int32_t, 3> values_ = {1, 2, 3};
  Context context_;
  Relation rows_;
  Relation narrow_;
  gpujoin_join_spec spec_ = GPUJOIN_JOIN_SPEC_INIT;
};

// Though no row has come that shows it.
TEST_F(OperationArguments, OfTypesThatDoNotCompare) {
  Build const build = finished();
  std::vector<gpujoin_column> columns(2, GPUJOIN_COLUMN_INIT);
  for (gpujoin_column& column : columns) {
    column.name = "c";
    column.type = GPUJOIN_TYPE_UTF8;
  }
  gpujoin_relation* text = nullptr;
  ASSERT_OK(call(gpujoin_relation_create, context_.get(), int64_t{0}, columns.data(), 2, &text));
  Relation const like(text);
  const gpujoin_operation_options* const automatic = nullptr;
  gpujoin_operation* made = nullptr;
  EXPECT_STATUS(call(gpujoin_operation_create, build.get(), like.get(), &spec_, automatic, &made),
                GPUJOIN_ERROR_TYPE);
  EXPECT_EQ(made, nullptr);
}

TEST_F(OperationArguments, OfABuild) {
  Build build;
  gpujoin_build_options options = GPUJOIN_BUILD_OPTIONS_INIT;
  auto const refused = [&](const char* word, gpujoin_status status = kInvalid) {
    EXPECT_NAMES(create(&build, &options), status, word);
    EXPECT_EQ(build, nullptr);
    options = GPUJOIN_BUILD_OPTIONS_INIT;
  };
  options.struct_size = 8;
  refused("options.struct_size", GPUJOIN_ERROR_ABI_MISMATCH);
  options.device = 7;
  refused("options.device");
  options.device = GPUJOIN_DEVICE_CUDA;
  refused("options.device", GPUJOIN_ERROR_NO_DEVICE);
  options.has_row_numbers = 2;
  refused("options.has_row_numbers");
  options.reserved = 1;
  refused("options.reserved");
  options.timeout_milliseconds = -1;
  refused("options.timeout_milliseconds");

  gpujoin_build* made = nullptr;
  int32_t const* const none = nullptr;
  std::array<int32_t, 1> const far = {2};
  auto* const context = context_.get();
  auto* const like = rows_.get();
  gpujoin_build_options const* const automatic = nullptr;
  EXPECT_NAMES(call(gpujoin_build_create, context, like, far.data(), 1, none, automatic, &made),
               kInvalid, "keys[0]");
  EXPECT_NAMES(call(gpujoin_build_create, context, like, none, 1, none, automatic, &made), kInvalid,
               "keys");
  EXPECT_NAMES(call(gpujoin_build_create, context, like, none, -1, none, automatic, &made),
               kInvalid, "key_count");
  EXPECT_NAMES(call(gpujoin_build_create, context, like, kKey.data(), 1, none, automatic,
                    static_cast<gpujoin_build**>(nullptr)),
               kInvalid, "out");
  std::array<int32_t, 1> const flags = {64};
  EXPECT_NAMES(
      call(gpujoin_build_create, context, like, kKey.data(), 1, flags.data(), automatic, &made),
      kInvalid, "key_flags[0]");
  EXPECT_EQ(made, nullptr);
}

TEST_F(OperationArguments, OfBatches) {
  Build build;
  ASSERT_OK(create(&build));
  EXPECT_NAMES(call(gpujoin_build_append, build.get(), narrow_.get(), int64_t{0}), kInvalid,
               "batch");
  EXPECT_NAMES(
      call(gpujoin_build_append, build.get(), static_cast<gpujoin_relation*>(nullptr), int64_t{0}),
      kInvalid, "batch");
  // A batch that is unlike leaves the build as it was.
  EXPECT_OK(call(gpujoin_build_append, build.get(), rows_.get(), int64_t{0}));
  Operation operation;
  EXPECT_NAMES(operate(build.get(), &operation), kInvalid, "build is not finished");
  EXPECT_OK(call(gpujoin_build_finish, build.get()));
  EXPECT_NAMES(call(gpujoin_build_finish, build.get()), kInvalid, "finished");
  EXPECT_NAMES(call(gpujoin_build_append, build.get(), rows_.get(), int64_t{0}), kInvalid,
               "finished");
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  EXPECT_OK(call(gpujoin_build_get_info, build.get(), &info));
  EXPECT_EQ(info.rows, 3);
  EXPECT_EQ(info.is_finished, 1);
  EXPECT_EQ(info.is_whole, 1);
}

TEST_F(OperationArguments, OfAnOperation) {
  Build const build = finished();
  Operation operation;
  gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.has_row_numbers = -1;
  EXPECT_NAMES(operate(build.get(), &operation, &options), kInvalid, "options.has_row_numbers");
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  plan.timeout_milliseconds = -1;
  options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.plan = &plan;
  EXPECT_NAMES(operate(build.get(), &operation, &options), kInvalid, "timeout_milliseconds");
  spec_.right_keys = kOther.data();
  EXPECT_NAMES(operate(build.get(), &operation), kInvalid, "spec.right_keys");
  spec_.right_keys = kKey.data();
  std::array<int32_t, 1> const flags = {GPUJOIN_KEY_NULL_EQUAL};
  spec_.key_flags = flags.data();
  EXPECT_NAMES(operate(build.get(), &operation), kInvalid, "spec.key_flags");
  spec_.key_flags = nullptr;
  spec_.output = GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS;
  EXPECT_NAMES(operate(build.get(), &operation), kInvalid, "spec.output");
  spec_.output = 0;
  spec_.promises = GPUJOIN_PROMISE_RIGHT_SORTED;
  EXPECT_NAMES(operate(build.get(), &operation), GPUJOIN_ERROR_UNSUPPORTED, "promises");
  spec_.promises = 0;
  spec_.order = GPUJOIN_ORDER_RIGHT;
  EXPECT_NAMES(operate(build.get(), &operation), GPUJOIN_ERROR_UNSUPPORTED, "order");
  spec_.order = GPUJOIN_ORDER_NONE;
  EXPECT_OK(operate(build.get(), &operation));
}

TEST_F(OperationArguments, OfCallsInTheWrongOrder) {
  Build const build = finished();
  Operation operation;
  ASSERT_OK(operate(build.get(), &operation));
  gpujoin_probe* made = nullptr;
  ASSERT_OK(call(gpujoin_probe_create, operation.get(), &made));
  Probe probe(made);
  gpujoin_state state = -1;
  gpujoin_result* result = nullptr;
  EXPECT_OK(call(gpujoin_operation_next, operation.get(), &state, &result));
  EXPECT_EQ(state, GPUJOIN_STATE_NOT_READY);
  EXPECT_OK(call(gpujoin_operation_close, operation.get()));
  EXPECT_NAMES(call(gpujoin_probe_create, operation.get(), &made), kInvalid, "closed");
  EXPECT_OK(call(gpujoin_probe_append, probe.get(), rows_.get(), int64_t{0}));
  EXPECT_NAMES(call(gpujoin_probe_next, probe.get(), static_cast<gpujoin_state*>(nullptr), &result),
               kInvalid, "state");
  EXPECT_OK(call(gpujoin_probe_finish, probe.get()));
  EXPECT_NAMES(call(gpujoin_probe_append, probe.get(), rows_.get(), int64_t{0}), kInvalid,
               "finished");
  // Rows were not taken: what is left is not complete.
  probe.reset();
  EXPECT_NAMES(call(gpujoin_operation_next, operation.get(), &state, &result), kInvalid, "probe");
  // The build is as it was.
  Operation another;
  EXPECT_OK(operate(build.get(), &another));
}

TEST_F(OperationArguments, HandlesOfOtherTypes) {
  Build const build = finished();
  auto* const as_operation = reinterpret_cast<gpujoin_operation*>(build.get());
  auto* const as_probe = reinterpret_cast<gpujoin_probe*>(build.get());
  auto* const as_build = reinterpret_cast<gpujoin_build*>(rows_.get());
  EXPECT_NAMES(call(gpujoin_operation_close, as_operation), kInvalid, "operation");
  EXPECT_NAMES(call(gpujoin_operation_cancel, as_operation), kInvalid, "operation");
  EXPECT_NAMES(call(gpujoin_probe_flush, as_probe), kInvalid, "probe");
  EXPECT_NAMES(call(gpujoin_build_cancel, as_build), kInvalid, "build");
  gpujoin_build_destroy(as_build);
  gpujoin_operation_destroy(as_operation);
  gpujoin_probe_destroy(as_probe);
  gpujoin_build_destroy(nullptr);
  gpujoin_operation_destroy(nullptr);
  gpujoin_probe_destroy(nullptr);
}

int told = 0;

TEST_F(OperationArguments, WhoWaitsIsToldOnce) {
  Build const build = finished();
  told = 0;
  gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.ready = [](void* user) { ++*static_cast<int*>(user); };
  options.ready_user = &told;
  Operation operation;
  ASSERT_OK(operate(build.get(), &operation, &options));
  gpujoin_probe* made = nullptr;
  ASSERT_OK(call(gpujoin_probe_create, operation.get(), &made));
  Probe probe(made);
  EXPECT_OK(call(gpujoin_operation_close, operation.get()));
  EXPECT_EQ(told, 0);
  EXPECT_OK(call(gpujoin_probe_finish, probe.get()));
  EXPECT_EQ(told, 1);
  probe.reset();
  EXPECT_OK(call(gpujoin_operation_close, operation.get()));
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace gpujoin_test
