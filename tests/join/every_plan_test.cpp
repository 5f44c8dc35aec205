// every_plan_test.cpp: every legal plan of every usable executor against the reference, on relations that have everything.
#include <gtest/gtest.h>

#include <iostream>

#include "src/base/status.hpp"
#include "src/execute/execute.hpp"
#include "tests/join/random_relation.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

std::shared_ptr<base::Context> open_context(gpujoin_device device) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  try {
    return base::create_context(options);
  } catch (const base::Error& error) {
    if (error.status() == GPUJOIN_ERROR_NO_DEVICE) return nullptr;
    throw;
  }
}

gpujoin_plan_options options_of(const plan::JoinPlan& plan) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = static_cast<gpujoin_device>(plan.device);
  options.transfer = static_cast<gpujoin_transfer>(plan.transfer);
  options.transform = static_cast<gpujoin_transform>(plan.transform);
  options.skew = static_cast<gpujoin_skew>(plan.skew);
  options.output = static_cast<gpujoin_output>(plan.output);
  options.passes = plan.passes;
  options.match = static_cast<gpujoin_match>(plan.match);
  options.gather = static_cast<gpujoin_gather>(plan.gather);
  options.build_side = static_cast<gpujoin_side>(plan.build_side);
  return options;
}

struct Case {
  const char* name;
  RelationShape left;
  RelationShape right;
  int32_t radix_bits = 0;
};

RelationShape shape(size_t rows, uint64_t distinct, int32_t key_width = 4, uint64_t stride = 1,
                    double null_keys = 0, double null_payloads = 0, int64_t bit_offset = 0) {
  return {rows, key_width, distinct, stride, null_keys, null_payloads, bit_offset};
}

// Sizes at the edges of a warp, of the tiles (1024, 2048) and of a table (4096 rows), and beyond them.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"nothing", shape(0, 1), shape(0, 1)},
      {"left_empty", shape(0, 1), shape(33, 5)},
      {"right_empty", shape(33, 5), shape(0, 1)},
      {"one_row", shape(1, 1), shape(1, 1)},
      {"warp_less_one", shape(31, 20), shape(31, 20)},
      {"warp", shape(32, 20), shape(32, 20)},
      {"warp_and_one", shape(33, 20), shape(33, 20)},
      {"tile_less_one", shape(1023, 600), shape(2047, 600)},
      {"tile", shape(1024, 600), shape(2048, 600)},
      {"tile_and_one", shape(1025, 600), shape(2049, 600)},
      {"table_less_one", shape(4095, 40000), shape(5000, 40000)},
      {"table", shape(4096, 40000), shape(5000, 40000)},
      {"table_and_one", shape(4097, 40000), shape(5000, 40000), 1},
      {"several_blocks", shape(30000, 25000), shape(50000, 25000)},
      {"nulls", shape(3000, 2000, 4, 1, 0.2, 0.3, 5), shape(4000, 2000, 4, 1, 0.1, 0.5, 13)},
      {"only_null_keys", shape(500, 50, 4, 1, 1.0), shape(500, 50)},
      {"all_equal", shape(300, 1), shape(400, 1)},
      {"one_heavy_key", shape(9000, 1), shape(40, 3), 3},
      {"no_match", shape(2000, 1000, 4, 2), shape(2000, 1, 4, 1)},
      {"strided", shape(5000, 4000, 4, 1 << 16), shape(6000, 4000, 4, 1 << 16), 4},
      {"wide_keys", shape(5000, 3000, 8, 0x100000001), shape(7000, 3000, 8, 0x100000001)},
      {"high_bits", shape(5000, 3000, 8, uint64_t{1} << 44),
       shape(7000, 3000, 8, uint64_t{1} << 44)},
      {"wide_nulls", shape(2500, 900, 8, 7, 0.3, 0.2, 1), shape(2500, 900, 8, 7, 0.3, 0.2, 9)},
      {"many_partitions", shape(20000, 15000), shape(20000, 15000), 12},
  };
  return all;
}

struct Selection {
  const char* name;
  bool pairs;
  std::vector<int32_t> left;
  std::vector<int32_t> right;
};

// What the host asks for: pairs alone, columns alone, both; keys on either side, none; a column twice.
const std::vector<Selection>& selections() {
  static const std::vector<Selection> all = {
      {"pairs", true, {}, {}},
      {"key_and_payloads", false, {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}},
      {"both", true, {3}, {0, 4, 1, 4}},
      {"right_only", false, {}, {2, 0}},
  };
  return all;
}

columns::JoinSpec spec_of(const Selection& selection) {
  columns::JoinSpec spec;
  spec.pairs = selection.pairs;
  spec.materialize = !selection.left.empty() || !selection.right.empty();
  spec.left_columns = selection.left;
  spec.right_columns = selection.right;
  return spec;
}

void run_plan(const std::shared_ptr<columns::Relation>& left,
              const std::shared_ptr<columns::Relation>& right, const columns::JoinSpec& spec,
              const plan::JoinPlan& plan, int32_t radix_bits, const std::vector<Row>& expected) {
  gpujoin_plan_options options = options_of(plan);
  if (plan.transform == plan::Transform::kRadixOnesweep) options.radix_bits = radix_bits;
  execute::PlannedJoin join = execute::make_plan(left->context, left, right, spec, options);
  ASSERT_EQ(join.choice.plan.gather, plan.gather);
  ASSERT_EQ(join.choice.plan.match, plan.match);
  auto const result = execute::execute(join);
  ASSERT_EQ(result->rows, static_cast<int64_t>(expected.size()));
  ASSERT_TRUE(rows_of(*result) == expected);

  // The same with hardly any room at first: the match stops, is given room and goes on.
  if (plan.output != plan::Output::kGrown || expected.size() < 2000) return;
  join.choice.plan.expected_rows = 1;
  auto const again = execute::execute(join);
  ASSERT_TRUE(rows_of(*again) == expected);
}

constexpr size_t kAllRows = SIZE_MAX;

void run_every_plan(gpujoin_device device, bool on_device, size_t most_rows = kAllRows) {
  auto const context = open_context(device);
  if (context == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  std::vector<plan::JoinPlan> const plans = plan::legal_plans(static_cast<plan::Device>(device));
  ASSERT_FALSE(plans.empty());
  uint64_t seed = 1;
  for (Case const& c : cases()) {
    if (c.left.rows + c.right.rows > most_rows) continue;
    HostRelation const left = random_relation(c.left, ++seed);
    HostRelation const right = random_relation(c.right, ++seed);
    auto const left_relation = register_relation(context, left, on_device);
    auto const right_relation = register_relation(context, right, on_device);
    for (Selection const& selection : selections()) {
      columns::JoinSpec const spec = spec_of(selection);
      std::vector<Row> const expected = reference_join(left, right, spec);
      for (plan::JoinPlan const& plan : plans) {
        SCOPED_TRACE(std::string(c.name) + ", " + selection.name + ", " + plan::to_text(plan));
        run_plan(left_relation, right_relation, spec, plan, c.radix_bits, expected);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
  std::cout << "every_plan: " << plans.size() << " legal plans, " << cases().size()
            << " pairs of relations, " << selections().size() << " selections\n";
}

TEST(EveryPlan, OnTheCpuAnswersAsTheReference) { run_every_plan(GPUJOIN_DEVICE_CPU, false); }
TEST(EveryPlan, OnTheGpuAnswersAsTheReference) { run_every_plan(GPUJOIN_DEVICE_CUDA, true); }
// Small enough for the slow tools: a race checker takes minutes for the relations above.
TEST(EveryPlan, SmallRelationsOnTheGpuAnswerAsTheReference) {
  run_every_plan(GPUJOIN_DEVICE_CUDA, true, 2200);
}
TEST(EveryPlan, OnTheGpuFromHostMemoryAnswersAsTheReference) {
  run_every_plan(GPUJOIN_DEVICE_CUDA, false);
}

}  // namespace
}  // namespace gpujoin::tests
