// staying_partitions_test.cpp: build sides that a device holds a part of. Partitions that stay are
// met by rows as they come; every kind that can puts out the rows that it puts out of all.
#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/abi/fixture.hpp"
#include "tests/abi/key_value_rows.hpp"
#include "tests/abi/operation_results.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kKey = 0;
constexpr int64_t kBuildRows = int64_t{6} << 20;
constexpr int64_t kProbeRows = int64_t{8} << 20;
constexpr int64_t kBatchRows = int64_t{1} << 20;
constexpr int32_t kStride = 199;  // keys are no addresses

// Key and twice the key.
struct Rows : KeyValueRows {
  Rows(int64_t rows, int64_t first_key) {
    for (int64_t i = 0; i < rows; ++i) {
      keys.push_back(static_cast<int32_t>((first_key + i * 7919 % rows) * kStride));
      values.push_back(2 * int64_t{keys.back()});
    }
  }
};

// Of the column that is put out.
struct Sum {
  int64_t rows = 0;
  int64_t nulls = 0;
  int64_t values = 0;
  bool operator==(const Sum&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Sum& sum) {
  return out << sum.rows << " rows, " << sum.nulls << " NULL, sum " << sum.values;
}

class StayingPartitions : public testing::Test {
 protected:
  // Build keys are 0 to kBuildRows - 1, those of probe rows begin at a third of them.
  static constexpr int64_t kFirstProbe = kBuildRows / 3;
  static constexpr int64_t kMatches = kBuildRows - kFirstProbe;

  void SetUp() override {
    gpujoin_context_options given = GPUJOIN_CONTEXT_OPTIONS_INIT;
    given.device = GPUJOIN_DEVICE_CUDA;
    given.memory_limit_bytes = uint64_t{224} << 20;
    gpujoin_context* made = nullptr;
    gpujoin_error error;
    if (gpujoin_context_create(&given, &made, &error) == GPUJOIN_ERROR_NO_DEVICE) {
      GTEST_SKIP() << "no GPU";
    }
    context_ = Context(made);
    ASSERT_NE(made, nullptr) << error.message;
  }

  static int64_t sum_of_keys(int64_t first, int64_t end) {
    return (first + end - 1) * (end - first) / 2 * kStride;
  }

  // The build side is the left one. Sums up the probe side's value, or of kinds that put out none
  // the build side's.
  Sum join(int32_t kind, bool of_probe, int threads, std::string* plan) {
    Rows const build_rows(kBuildRows, 0);
    Rows const probe_rows(kProbeRows, kFirstProbe);
    Relation const like = build_rows.slice(context_, 0, 0);
    gpujoin_build* made = nullptr;
    EXPECT_OK(
        call(gpujoin_build_create, context_.get(), like.get(), &kKey, 1, nullptr, nullptr, &made));
    Build const build(made);
    for (int64_t first = 0; first < kBuildRows; first += kBatchRows) {
      Relation const batch = build_rows.slice(context_, first, kBatchRows);
      EXPECT_OK(call(gpujoin_build_append, build.get(), batch.get(), 0));
    }
    EXPECT_OK(call(gpujoin_build_finish, build.get()));
    int32_t const value = 1;
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = kind;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = &kKey;
    spec.output = GPUJOIN_OUTPUT_COLUMNS;
    (of_probe ? spec.right_columns : spec.left_columns) = &value;
    (of_probe ? spec.right_column_count : spec.left_column_count) = 1;
    gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
    gpujoin_plan_options plan_options = GPUJOIN_PLAN_OPTIONS_INIT;
    plan_options.build_side = GPUJOIN_SIDE_LEFT;
    options.plan = &plan_options;
    gpujoin_operation* opened = nullptr;
    EXPECT_OK(call(gpujoin_operation_create, build.get(), like.get(), &spec, &options, &opened));
    Operation const operation(opened);
    std::vector<Sum> sums(static_cast<size_t>(threads));
    by_threads(threads, [&](int thread) {
      probe_with(operation, probe_rows, thread, threads, &sums[static_cast<size_t>(thread)]);
    });
    *plan = text_of(operation);
    EXPECT_OK(call(gpujoin_operation_close, operation.get()));
    by_threads(threads, [&](int thread) {
      Sum* const sum = &sums[static_cast<size_t>(thread)];
      EXPECT_OK(take_results(operation.get(), gpujoin_operation_next,
                             [&](const Result& result) { add(result, sum); }));
    });
    Sum all;
    for (Sum const& sum : sums) {
      all.rows += sum.rows;
      all.nulls += sum.nulls;
      all.values += sum.values;
    }
    return all;
  }

 private:
  template <typename Call>
  static void by_threads(int threads, const Call& call) {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) running.emplace_back(call, thread);
  }

  static void add(const Result& result, Sum* sum) {
    for (auto const& value : column_of<int64_t>(result, 0)) {
      ++sum->rows;
      if (value) sum->values += *value / 2;
      sum->nulls += value ? 0 : 1;
    }
  }

  static std::string text_of(const Operation& operation) {
    std::string text(4096, '\0');
    size_t length = text.size();
    EXPECT_OK(call(gpujoin_operation_explain, operation.get(), text.data(), &length));
    return text.c_str();
  }

  // Every `threads`th batch.
  void probe_with(const Operation& operation, const Rows& rows, int thread, int threads, Sum* sum) {
    auto const use = [&](const Result& result) { add(result, sum); };
    gpujoin_probe* begun = nullptr;
    EXPECT_OK(call(gpujoin_probe_create, operation.get(), &begun));
    Probe const probe(begun);
    for (int64_t first = thread * kBatchRows; first < kProbeRows; first += threads * kBatchRows) {
      Relation const batch = rows.slice(context_, first, kBatchRows);
      append_and_take(probe.get(), batch, use);
    }
    EXPECT_OK(call(gpujoin_probe_finish, probe.get()));
    EXPECT_OK(take_results(probe.get(), gpujoin_probe_next, use));
  }

  Context context_;
};

// What explain says of how many stayed.
int staying(const std::string& plan) {
  size_t const at = plan.find("staying");
  return at == std::string::npos ? -1 : std::atoi(plan.c_str() + at + 7);
}

}  // namespace

TEST_F(StayingPartitions, OfEveryKind) {
  int64_t const end = kFirstProbe + kProbeRows;
  Sum const both = {kMatches, 0, sum_of_keys(kFirstProbe, kBuildRows)};
  Sum const build_alone = {kFirstProbe, 0, sum_of_keys(0, kFirstProbe)};
  Sum const probe_alone = {kProbeRows - kMatches, 0, sum_of_keys(kBuildRows, end)};
  Sum const probe_all = {kProbeRows, 0, sum_of_keys(kFirstProbe, end)};
  Sum const build_all = {kBuildRows, 0, sum_of_keys(0, kBuildRows)};
  struct Case {
    int32_t kind;
    bool of_probe;
    Sum expected;
  };
  Sum const full = {kProbeRows + kFirstProbe, kFirstProbe, probe_all.values};
  Sum const left = {build_all.rows, kFirstProbe, both.values};
  Case const cases[] = {
      {GPUJOIN_JOIN_INNER, true, both},      {GPUJOIN_JOIN_RIGHT, true, probe_all},
      {GPUJOIN_JOIN_LEFT, true, left},       {GPUJOIN_JOIN_FULL, true, full},
      {GPUJOIN_JOIN_RIGHT_SEMI, true, both}, {GPUJOIN_JOIN_RIGHT_ANTI, true, probe_alone},
      {GPUJOIN_JOIN_LEFT_SEMI, false, both}, {GPUJOIN_JOIN_LEFT_ANTI, false, build_alone}};
  for (Case const& each : cases) {
    for (int const threads : {1, 8}) {
      SCOPED_TRACE(std::to_string(each.kind) + " by " + std::to_string(threads));
      std::string plan;
      EXPECT_EQ(join(each.kind, each.of_probe, threads, &plan), each.expected);
      EXPECT_GT(staying(plan), 0) << plan;
      EXPECT_LT(staying(plan), 64) << plan;
    }
  }
}
