// hashed_keys_test.cpp: several key columns joined by their hash, by every plan that takes hashed
// keys, also where most hashes collide: what verification leaves is the reference's.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/keys/encoding.hpp"
#include "src/plan/stage_costs.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

// Three columns of keys among those of random_relation, of which 8 bytes hold none.
HostRelation relation_of(size_t rows, uint64_t distinct, uint64_t seed) {
  RelationShape shape;
  shape.rows = rows;
  shape.key_width = 8;
  shape.distinct_keys = distinct;
  shape.key_stride = 0x9e3779b97f4a7c15;
  shape.null_keys = 0.1;
  shape.null_payloads = 0.3;
  shape.bit_offset = 3;
  HostRelation relation = random_relation(shape, seed);
  for (uint64_t const more : {1, 2}) {
    relation.columns.push_back(random_relation(shape, seed + more).columns.front());
  }
  return relation;
}

columns::JoinSpec spec_of_keys() {
  columns::JoinSpec spec;
  spec.left_keys = {0, 6, 7};
  spec.right_keys = {7, 0, 6};
  spec.pairs = spec.materialize = true;
  spec.left_columns = {0, 3, 6, 5};
  spec.right_columns = {1, 6, 4};
  return spec;
}

// Both sides of a join, and its rows.
struct Sides {
  Sides(base::Queue& queue, size_t left_rows, size_t right_rows, uint64_t distinct, uint64_t seed,
        bool on_device)
      : left(relation_of(left_rows, distinct, seed)),
        right(relation_of(right_rows, distinct, seed + 10)),
        expected(reference_join(left, right, spec)),
        left_relation(register_relation(queue, left, on_device)),
        right_relation(register_relation(queue, right, on_device)) {}

  columns::JoinSpec spec = spec_of_keys();
  HostRelation left;
  HostRelation right;
  std::vector<Row> expected;
  std::shared_ptr<columns::Relation> left_relation;
  std::shared_ptr<columns::Relation> right_relation;
};

std::vector<plan::JoinPlan> hashed_plans() {
  plan::Choices choices;
  choices.keys = {plan::Keys::kHashed};
  choices.filters = {plan::Filter::kNone};
  return plan::plans_of(plan::Device::kCuda, choices, 3);
}

// As the planner would have it, had it taken this plan.
execute::PlannedJoin planned(base::Queue& queue, const Sides& sides, const plan::JoinPlan& plan) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.match = GPUJOIN_MATCH_ROW_MULTISET;
  options.build_side = static_cast<gpujoin_side>(plan.build_side);
  execute::PlannedJoin join =
      execute::make_plan(queue, sides.left_relation, sides.right_relation, sides.spec, options);
  join.encoding = keys::hashed(queue.context);
  join.request.code_width = 0;
  join.request.options = options_of(plan);
  plan::JoinPlan complete = plan;
  if (plan::partitions(plan.transform)) complete.radix_bits = 5;
  join.take(plan::cost_of(complete, join.request, {}, queue.context.facts));
  return join;
}

TEST(HashedKeys, EveryPlanAnswersAsTheReference) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  std::vector<plan::JoinPlan> const plans = hashed_plans();
  ASSERT_GT(plans.size(), 20U);
  struct Case {
    size_t left;
    size_t right;
    uint64_t distinct;
    uint64_t ones;  // of all hashes: few values are left
  };
  for (Case const& of : {Case{0, 40, 3, 0}, Case{2500, 3000, 12, 0}, Case{900, 1200, 9, ~0xfULL},
                         Case{60, 70, 3, ~0ULL}}) {
    queue->context.hash_ones = of.ones;
    Sides const sides(queue, of.left, of.right, of.distinct, 11, true);
    for (plan::JoinPlan const& plan : plans) {
      execute::PlannedJoin join = planned(queue, sides, plan);
      SCOPED_TRACE(std::to_string(of.left) + " rows, " + plan::to_text(join.choice.plan()));
      auto const result = execute::execute(queue, join);
      ASSERT_TRUE(rows_of(queue, *result) == sides.expected);
      auto const& stages = result->statistics.stages;
      EXPECT_TRUE(std::any_of(stages.begin(), stages.end(),
                              [](auto const& stage) { return stage.stage == "verify"; }));
    }
  }
}

// From host memory, whole and in chunks.
TEST(HashedKeys, OfHostMemoryAreVerifiedToo) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  queue->context.hash_ones = ~0xffULL;
  Sides const sides(queue, 2500, 2700, 12, 31, false);
  for (plan::JoinPlan plan : hashed_plans()) {
    if (plan.skew == plan::Skew::kNone || plan::is_of_papers(plan.output, plan.gather)) continue;
    for (plan::Transfer const transfer :
         {plan::Transfer::kOverlappedCopies, plan::Transfer::kProbeChunks}) {
      plan.transfer = transfer;
      plan.probe_chunk_rows = transfer == plan::Transfer::kProbeChunks ? 700 : 0;
      if (plan::why_illegal(plan, 3)) continue;
      execute::PlannedJoin const join = planned(queue, sides, plan);
      SCOPED_TRACE(plan::to_text(join.choice.plan()));
      ASSERT_TRUE(rows_of(queue, *execute::execute(queue, join)) == sides.expected);
    }
  }
}

// Where no code holds the keys, the planner weighs hashes, and whoever names a technique that joins
// one key gets it.
TEST(HashedKeys, ArePlannedWhereNoCodeHoldsTheKeys) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CUDA);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  Sides const sides(queue, 3000, 3100, 14, 51, true);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  auto const make_plan = [&] {
    return execute::make_plan(queue, sides.left_relation, sides.right_relation, sides.spec,
                              options);
  };
  execute::PlannedJoin join = make_plan();
  size_t hashed = 0;
  std::vector<plan::Candidate> const candidates = join.choice.candidates;
  for (plan::Candidate const& candidate : candidates) {
    hashed += candidate.plan.keys == plan::Keys::kHashed ? 1 : 0;
    join.take(candidate);
    SCOPED_TRACE(plan::to_text(candidate.plan));
    ASSERT_TRUE(rows_of(queue, *execute::execute(queue, join)) == sides.expected);
  }
  EXPECT_GT(hashed, 2U);
  for (gpujoin_match const match : {GPUJOIN_MATCH_CO_PARTITIONS, GPUJOIN_MATCH_MERGE_PATH}) {
    options.match = match;
    join = make_plan();
    EXPECT_EQ(join.choice.plan().keys, plan::Keys::kHashed);
    EXPECT_TRUE(rows_of(queue, *execute::execute(queue, join)) == sides.expected);
  }
}

}  // namespace
}  // namespace gpujoin::tests
