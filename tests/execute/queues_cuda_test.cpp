// queues_cuda_test.cpp: queues of one context at the same time: joins side by side, and one build
// side that several of them probe.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/execute/built_on_gpu.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/kept_build.hpp"
#include "src/transfer/transfer.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

using columns::JoinResult;

constexpr int kThreads = 4;
constexpr int kRounds = 6;

RelationShape shape_of(size_t rows, uint64_t distinct, bool unique, uint64_t stride = 1) {
  RelationShape shape{rows, 4, distinct, stride, 0, 0.1, 3};
  shape.unique_keys = unique;
  return shape;
}

columns::JoinSpec all_of_both() {
  columns::JoinSpec spec;
  spec.pairs = spec.materialize = true;
  spec.left_columns = {0, 2, 5};
  spec.right_columns = {3, 4};
  return spec;
}

// A plan of each family of built objects, by an algorithm that stands for it.
std::vector<gpujoin_algorithm> families() {
  return {GPUJOIN_ALGORITHM_NOP_CARRIED, GPUJOIN_ALGORITHM_DIRECT_CARRIED,
          GPUJOIN_ALGORITHM_PHJ_CARRIED, GPUJOIN_ALGORITHM_PHJ_OM,
          GPUJOIN_ALGORITHM_PHJ_UM,      GPUJOIN_ALGORITHM_SMJ_OM,
          GPUJOIN_ALGORITHM_SMJ_UM,      GPUJOIN_ALGORITHM_NOP};
}

gpujoin_plan_options options_of(gpujoin_algorithm algorithm) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.build_side = GPUJOIN_SIDE_RIGHT;
  return options;
}

TEST(Queues, JoinSideBySide) {
  auto const first = open_queue(GPUJOIN_DEVICE_CUDA);
  if (first == nullptr) GTEST_SKIP() << "no CUDA device";
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      OwnQueue const queue(first.context());
      auto const seed = static_cast<uint64_t>(t);
      size_t const rows = size_t{20000} << t;
      HostRelation const left = random_relation(shape_of(2 * rows, 2 * rows, false), 2 * seed);
      HostRelation const right = random_relation(shape_of(rows, rows, true), 2 * seed + 1);
      auto const left_relation = register_relation(queue, left, true);
      auto const right_relation = register_relation(queue, right, true);
      columns::JoinSpec const spec = all_of_both();
      std::vector<Row> const expected = reference_join(left, right, spec);
      for (int round = 0; round < kRounds; ++round) {
        for (gpujoin_algorithm const algorithm : families()) {
          auto const join =
              execute::make_plan(queue, left_relation, right_relation, spec, options_of(algorithm));
          if (rows_of(queue, *execute::execute(queue, join)) != expected) {
            wrong[static_cast<size_t>(t)] += plan::to_text(join.choice.plan()) + "; ";
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::string const& plans : wrong) EXPECT_EQ(plans, "");
}

// One side of a join as an attempt brings it.
struct BroughtSide {
  std::shared_ptr<execute::GpuSide> side;
  std::unique_ptr<transfer::Transport> transport;  // after the side, as it is used
};

BroughtSide bring(base::Queue& queue, const columns::Relation& relation,
                  const std::vector<int32_t>& keys, const std::vector<int32_t>& columns,
                  const plan::JoinPlan& plan, bool moves_payloads) {
  BroughtSide brought;
  brought.side = std::make_shared<execute::GpuSide>(queue, relation, keys, columns, nullptr);
  brought.transport = transfer::make_transport(queue, plan::Transfer::kNone);
  brought.side->start(plan, moves_payloads);
  brought.side->bring_transformed(*brought.transport);
  brought.side->bring_payloads(*brought.transport);
  return brought;
}

TEST(Queues, ProbeOneBuildSide) {
  auto const builder = open_queue(GPUJOIN_DEVICE_CUDA);
  if (builder == nullptr) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kBuildRows = 60000;
  for (bool const unique : {true, false}) {
    HostRelation const right = random_relation(shape_of(kBuildRows, kBuildRows, unique), 50);
    auto const right_relation = register_relation(builder, right, true);
    columns::JoinSpec const spec = all_of_both();
    for (gpujoin_algorithm const algorithm : families()) {
      HostRelation const first = random_relation(shape_of(1000, kBuildRows, false), 51);
      auto const join = execute::make_plan(builder, register_relation(builder, first, true),
                                           right_relation, spec, options_of(algorithm));
      plan::JoinPlan plan = join.choice.plan();
      SCOPED_TRACE(plan::to_text(plan));
      if (!unique && plan::writes_columns(plan.gather) &&
          plan.transform == plan::Transform::kNone) {
        continue;  // such tables hold unique keys
      }
      if (plan::partitions(plan.transform) && plan.radix_bits == 0) plan.radix_bits = 8;
      bool const moves = plan::moves_payloads(join.request.right, plan, spec.pairs);
      BroughtSide const build_side =
          bring(builder, *right_relation, spec.right_keys, spec.right_columns, plan, moves);
      std::vector<columns::StageStatistics> stages;
      execute::StageClock clock(builder, plan::Device::kCuda, stages);
      clock.predict(join.choice.predicted());
      clock.begin("transfer");
      execute::JoinStep const step{*builder, plan, spec, clock, true};
      std::unique_ptr<const execute::Built> const built =
          execute::build_on_gpu(step, build_side.side, execute::all_bits(*build_side.side));
      clock.finish();
      ASSERT_NE(built, nullptr);

      std::vector<std::thread> threads;
      std::vector<int> wrong(kThreads, 0);
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          OwnQueue const queue(builder.context());
          HostRelation const left = random_relation(shape_of(size_t{5000} << t, kBuildRows, false),
                                                    static_cast<uint64_t>(60 + t));
          auto const left_relation = register_relation(queue, left, true);
          std::vector<Row> const expected = reference_join(left, right, spec);
          for (int round = 0; round < kRounds; ++round) {
            JoinResult result;
            result.context = queue.context();
            result.memory = base::Memory::kDevice;
            result.has_pairs = true;
            std::vector<columns::StageStatistics> own;
            execute::StageClock own_clock(queue, plan::Device::kCuda, own);
            own_clock.predict(join.choice.predicted());
            own_clock.begin("transfer");
            BroughtSide const probe_side =
                bring(queue, *left_relation, spec.left_keys, spec.left_columns, plan,
                      plan::moves_payloads(join.request.left, plan, spec.pairs));
            execute::JoinStep const probe{*queue, plan, spec, own_clock, true};
            bool const joined =
                built->probe(probe, *probe_side.side, result) == plan::Finding::kJoined;
            own_clock.finish();
            wrong[static_cast<size_t>(t)] += joined && rows_of(queue, result) == expected ? 0 : 1;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
    }
  }
}

// A table is on its way when the next queue asks it, or when it is let go of with what it is made
// of, whose memory others take then.
TEST(Queues, ProbeATableThatIsOnItsWay) {
  auto const builder = open_queue(GPUJOIN_DEVICE_CUDA);
  if (builder == nullptr) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kBuildRows = 700'000;
  columns::JoinSpec spec;
  spec.materialize = true;
  spec.left_columns = {0};
  spec.right_columns = {0};
  HostRelation const right = random_relation(shape_of(kBuildRows, kBuildRows, true), 70);
  HostRelation const left = random_relation(shape_of(3000, kBuildRows, false), 71);
  auto const left_relation = register_relation(builder, left, true);
  std::vector<Row> const expected = reference_join(left, right, spec);
  OwnQueue const other(builder.context());
  gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
  for (int round = 0; round < kRounds; ++round) {
    auto const right_relation = register_relation(builder, right, true);
    auto const make = [&] {
      return execute::KeptBuild::make(builder, left_relation, right_relation, spec, options, false);
    };
    ASSERT_NE(make(), nullptr);
    auto const kept = make();
    ASSERT_NE(kept, nullptr);
    for (base::Queue* const queue : {&*other, &*builder, &*other}) {
      auto const planned = kept->joined_with(*queue, left_relation);
      ASSERT_TRUE(planned.has_value());
      EXPECT_EQ(rows_of(*queue, *execute::execute(*queue, *planned)), expected);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
