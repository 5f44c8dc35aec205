// many_builds_test.cpp: the builds and probes of several joins of one query, within one limit.
#include <filesystem>
#include <numeric>

#include "tests/abi/fixture.hpp"
#include "tests/abi/operation_results.hpp"

namespace gpujoin_test {
namespace {

constexpr int32_t kKey[] = {0};
constexpr int64_t kRows = int64_t{1} << 17;
constexpr int kJoins = 12;

struct Join {
  Build build;
  Operation operation;
  Probe probe;
};

// Rows of 16 bytes, in any order.
Table rows_of(int64_t seed) {
  std::vector<int64_t> keys(static_cast<size_t>(kRows));
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = (static_cast<int64_t>(i) * 5 + seed) % kRows * 1000003;
  }
  Table made;
  made.emplace_back("key", GPUJOIN_TYPE_INT64, keys);
  made.emplace_back("value", GPUJOIN_TYPE_INT64, keys);
  return made;
}

void begin(const Context& context, const Relation& rows, Join* join) {
  const int32_t* const no_flags = nullptr;
  gpujoin_build* build = nullptr;
  ASSERT_OK(
      call(gpujoin_build_create, context.get(), rows.get(), kKey, 1, no_flags, nullptr, &build));
  join->build.reset(build);
  ASSERT_OK(call(gpujoin_build_append, build, rows.get(), int64_t{0}));
  ASSERT_OK(call(gpujoin_build_finish, build));
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = kKey;
  spec.left_columns = kKey;
  spec.left_column_count = 1;
  gpujoin_operation* operation = nullptr;
  ASSERT_OK(call(gpujoin_operation_create, build, rows.get(), &spec, nullptr, &operation));
  join->operation.reset(operation);
  gpujoin_probe* probe = nullptr;
  ASSERT_OK(call(gpujoin_probe_create, operation, &probe));
  join->probe.reset(probe);
}

void probe_with(const Relation& rows, const Join& join, int64_t* results) {
  auto const use = [&](const Result& result) {
    int64_t count = 0;
    EXPECT_OK(call(gpujoin_result_get_rows, result.get(), &count));
    *results += count;
  };
  Answer answer;
  while ((answer = call(gpujoin_probe_append, join.probe.get(), rows.get(), int64_t{0})).status ==
         GPUJOIN_ERROR_NOT_READY) {
    ASSERT_OK(take_results(join.probe.get(), gpujoin_probe_next, use));
  }
  ASSERT_OK(answer);
  ASSERT_OK(take_results(join.probe.get(), gpujoin_probe_next, use));
  ASSERT_OK(call(gpujoin_probe_finish, join.probe.get()));
  ASSERT_OK(take_results(join.probe.get(), gpujoin_probe_next, use));
}

// Each build would keep the eighth of the limit that is its share: all have rows before any is
// probed.
TEST(ManyBuilds, LeaveRoomForEachOthersJoins) {
  auto const folder = std::filesystem::temp_directory_path().string();
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = 2;
  options.host_limit_bytes = uint64_t{16} << 20;
  options.spill_path = folder.c_str();
  Context const context = make_context(options);
  Table const of_build = rows_of(1);
  Table const of_probe = rows_of(2);
  Relation const build_rows = make_relation(context, of_build);
  Relation const probe_rows = make_relation(context, of_probe);
  std::vector<Join> joins(kJoins);
  for (Join& join : joins) {
    begin(context, build_rows, &join);
    if (HasFatalFailure()) return;
  }
  std::vector<int64_t> results(kJoins, 0);
  for (size_t i = 0; i < joins.size(); ++i) {
    probe_with(probe_rows, joins[i], &results[i]);
    if (HasFatalFailure()) return;
  }
  for (size_t i = 0; i < joins.size(); ++i) {
    ASSERT_OK(call(gpujoin_operation_close, joins[i].operation.get()));
    ASSERT_OK(
        take_results(joins[i].operation.get(), gpujoin_operation_next, [&](const Result& result) {
          int64_t count = 0;
          EXPECT_OK(call(gpujoin_result_get_rows, result.get(), &count));
          results[i] += count;
        }));
    EXPECT_EQ(results[i], kRows);
  }
}

}  // namespace
}  // namespace gpujoin_test
