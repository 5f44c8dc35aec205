// many_builds_test.cpp: the builds and probes of several joins of one query, within one limit.
#include <filesystem>

#include "tests/abi/fixture.hpp"
#include "tests/abi/operation_results.hpp"

namespace gpujoin_test {
namespace {

constexpr int64_t kRows = int64_t{1} << 17;
constexpr int kJoins = 12;

// Rows of 16 bytes, in any order.
Table drawn_rows(int64_t seed) {
  std::vector<int64_t> keys(static_cast<size_t>(kRows));
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = (static_cast<int64_t>(i) * 5 + seed) % kRows * 1000003;
  }
  Table made;
  made.emplace_back("key", GPUJOIN_TYPE_INT64, keys);
  made.emplace_back("value", GPUJOIN_TYPE_INT64, keys);
  return made;
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
  Table const of_build = drawn_rows(1);
  Table const of_probe = drawn_rows(2);
  Relation const build_rows = make_relation(context, of_build);
  Relation const probe_rows = make_relation(context, of_probe);
  std::vector<BegunJoin> joins(kJoins);
  for (BegunJoin& join : joins) {
    begin_join(context, build_rows, &join);
    if (HasFatalFailure()) return;
  }
  std::vector<int64_t> results(kJoins, 0);
  for (size_t i = 0; i < joins.size(); ++i) {
    auto const use = [&](const Result& result) { results[i] += rows_of(result); };
    append_and_take(joins[i].probe.get(), probe_rows, use);
    ASSERT_OK(call(gpujoin_probe_finish, joins[i].probe.get()));
    ASSERT_OK(take_results(joins[i].probe.get(), gpujoin_probe_next, use));
    if (HasFatalFailure()) return;
  }
  for (size_t i = 0; i < joins.size(); ++i) {
    auto const use = [&](const Result& result) { results[i] += rows_of(result); };
    ASSERT_OK(call(gpujoin_operation_close, joins[i].operation.get()));
    ASSERT_OK(take_results(joins[i].operation.get(), gpujoin_operation_next, use));
    EXPECT_EQ(results[i], kRows);
  }
}

}  // namespace
}  // namespace gpujoin_test
