// built_on_cpu_test.cpp: one build side on the CPU, which queues of one context probe at the same
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/execute/built_on_cpu.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

using execute::CpuSide;

constexpr int kThreads = 4;
constexpr int kRounds = 6;
constexpr size_t kBuildRows = 20000;

// What is joined, and how.
struct Case {
  const char* name;
  int32_t key_width;
  int32_t key_count;
  plan::Gather gather;
  plan::Side build_side;
  int32_t radix_bits;  // 0: as many as the build side wants
};

constexpr Case kCases[] = {
    {"4 byte keys, moved", 4, 1, plan::Gather::kTransformed, plan::Side::kRight, 0},
    {"8 byte keys, moved", 8, 1, plan::Gather::kTransformed, plan::Side::kLeft, 0},
    {"4 byte keys, fetched", 4, 1, plan::Gather::kUntransformed, plan::Side::kLeft, 0},
    {"8 byte keys, fetched, many partitions", 8, 1, plan::Gather::kUntransformed,
     plan::Side::kRight, 9},
    {"3 keys", 4, 3, plan::Gather::kUntransformed, plan::Side::kRight, 0},
    {"2 keys, one partition bit", 8, 2, plan::Gather::kUntransformed, plan::Side::kLeft, 1},
};

HostRelation relation_of(const Case& of, size_t rows, uint64_t seed) {
  RelationShape const shape{rows, of.key_width, kBuildRows, 1, 0.05, 0.1, 3};
  HostRelation relation = random_relation(shape, seed);
  // Further key columns: copies of the first that differ in every third row.
  for (int32_t i = 1; i < of.key_count; ++i) {
    HostColumn& key = relation.columns.emplace_back(relation.columns.front());
    for (size_t row = static_cast<size_t>(i); row < rows; row += 3) {
      key.data[row * static_cast<size_t>(key.width)] ^= 1;
    }
  }
  return relation;
}

columns::JoinSpec spec_of(const Case& of) {
  columns::JoinSpec spec;
  spec.pairs = spec.materialize = true;
  for (int32_t i = 1; i < of.key_count; ++i) {
    int32_t const key = 5 + i;  // behind the payloads
    spec.left_keys.push_back(key);
    spec.right_keys.push_back(key);
  }
  spec.left_columns = {0, 2, 5};
  spec.right_columns = {3, 4, spec.right_keys.back()};
  return spec;
}

plan::JoinPlan plan_of(const Case& of) {
  plan::JoinPlan plan;
  plan.transform = plan::Transform::kRadixOnesweep;
  plan.match = plan::Match::kCoPartitions;
  plan.gather = of.gather;
  plan.build_side = of.build_side;
  plan.radix_bits = of.radix_bits;
  return plan;
}

class BuiltOnCpu : public testing::TestWithParam<Case> {
 protected:
  bool build_left() const { return GetParam().build_side == plan::Side::kLeft; }
  std::shared_ptr<CpuSide> side_of(base::Queue& queue, cpu::Workers& workers,
                                   const columns::Relation& relation, bool is_left) const {
    return std::make_shared<CpuSide>(queue, workers, relation,
                                     is_left ? spec_.left_keys : spec_.right_keys,
                                     is_left ? spec_.left_columns : spec_.right_columns);
  }

  // With workers that end here, before any probe.
  std::unique_ptr<const execute::Built> build(base::Queue& queue,
                                              const columns::Relation& relation) const {
    cpu::Workers workers(queue);
    std::vector<columns::StageStatistics> stages;
    execute::StageClock clock(queue, plan::Device::kCpu, stages);
    clock.predict(no_costs_);
    execute::JoinStep const step{queue, plan_, spec_, clock, true};
    auto built = execute::build_on_cpu(step, side_of(queue, workers, relation, build_left()));
    clock.finish();
    EXPECT_EQ(stages.size(), 1U);
    return built;
  }

  // The result's rows, and its stages' names.
  std::vector<Row> probe(base::Queue& queue, const execute::Built& built,
                         const columns::Relation& relation, std::string* stages) const {
    columns::JoinResult result;
    result.context = queue.context.shared_from_this();
    result.has_pairs = true;
    cpu::Workers workers(queue);
    auto const side = side_of(queue, workers, relation, !build_left());
    execute::StageClock clock(queue, plan::Device::kCpu, result.statistics.stages);
    clock.predict(no_costs_);
    execute::JoinStep const step{queue, plan_, spec_, clock, true};
    if (built.probe(step, *side, result) != plan::Finding::kJoined) return {};
    clock.finish();
    for (auto const& stage : result.statistics.stages) *stages += stage.stage + " ";
    return rows_of(queue, result);
  }

  columns::JoinSpec spec_ = spec_of(GetParam());
  plan::JoinPlan plan_ = plan_of(GetParam());
  plan::StageCosts no_costs_;
};

TEST_P(BuiltOnCpu, IsProbedByManyAtOnce) {
  auto builder = open_queue(GPUJOIN_DEVICE_CPU);
  auto const context = builder.context();
  HostRelation const build_rows = relation_of(GetParam(), kBuildRows, 1);
  auto const build_relation = register_relation(builder, build_rows, false);
  std::unique_ptr<const execute::Built> built = build(builder, *build_relation);
  uint64_t const kept_bytes = context->host_account->in_use_bytes();
  EXPECT_GT(kept_bytes, 0U);

  std::vector<std::thread> threads;
  std::vector<int> right(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      OwnQueue const queue(context);
      size_t const rows = size_t{500} << (2 * t);  // 500 to 32000
      HostRelation const probe_rows = relation_of(GetParam(), rows, static_cast<uint64_t>(10 + t));
      auto const probe_relation = register_relation(queue, probe_rows, false);
      std::vector<Row> const expected = build_left()
                                            ? reference_join(build_rows, probe_rows, spec_)
                                            : reference_join(probe_rows, build_rows, spec_);
      for (int round = 0; round < kRounds; ++round) {
        std::string stages;
        bool const same = probe(queue, *built, *probe_relation, &stages) == expected;
        bool const in_stages = stages == "match materialize ";
        right[static_cast<size_t>(t)] += same && in_stages && !expected.empty() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(kThreads, kRounds));

  EXPECT_EQ(context->host_account->in_use_bytes(), kept_bytes);
  built = nullptr;
  EXPECT_EQ(context->host_account->in_use_bytes(), 0U);
}

TEST_P(BuiltOnCpu, AnswersNothingForNoRows) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CPU);
  HostRelation const some = relation_of(GetParam(), 1000, 2);
  HostRelation const none = relation_of(GetParam(), 0, 3);
  auto const some_relation = register_relation(queue, some, false);
  auto const none_relation = register_relation(queue, none, false);
  std::string stages;
  EXPECT_TRUE(probe(queue, *build(queue, *some_relation), *none_relation, &stages).empty());
  EXPECT_TRUE(probe(queue, *build(queue, *none_relation), *some_relation, &stages).empty());
  EXPECT_EQ(queue.context()->host_account->in_use_bytes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Every, BuiltOnCpu, testing::ValuesIn(kCases), [](auto const& of) {
  std::string name = of.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

}  // namespace
}  // namespace gpujoin::tests
