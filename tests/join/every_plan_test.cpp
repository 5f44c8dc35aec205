// every_plan_test.cpp: every legal plan of every usable executor against the reference, on
// relations that have everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <tuple>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"
#include "tests/join/row_fingerprint.hpp"

namespace gpujoin::tests {
namespace {

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

// Every key once, of so many values from 0 on in steps: what a table whose probe rows write columns
// wants of its build side.
RelationShape unique_shape(RelationShape relation) {
  relation.unique_keys = true;
  return relation;
}

// Sizes at the edges of a warp, of the tiles (1024, 2048) and of a table (4096 rows), and beyond
// them.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"nothing", shape(0, 1), shape(0, 1)},
      {"left_empty", shape(0, 1), shape(33, 5)},
      {"right_empty", shape(33, 5), shape(0, 1)},
      {"one_row", shape(1, 1), shape(1, 1)},
      {"warp_less_one", shape(31, 20), shape(31, 20)},
      {"warp", shape(32, 20), shape(32, 20)},
      {"warp_and_one", shape(33, 20), shape(33, 20)},
      {"few_wide_nulls", shape(40, 20, 8, 7, 0.2, 0.3, 5), shape(45, 20, 8, 7, 0.1, 0.5, 13)},
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
      // Each side dense and unique once, built on or not; the other repeats, or is unique too; the
      // ranges lie one in the other.
      {"dense_small", unique_shape(shape(40, 40, 4, 1, 0.1, 0.2, 5)), shape(40, 55, 4, 1, 0.1)},
      {"dense_left", unique_shape(shape(5000, 5000)), shape(9000, 7000)},
      {"dense_right_nulls", shape(9000, 4000, 8, 8, 0.1, 0.2, 3),
       unique_shape(shape(5000, 9000, 8, 8, 0.2, 0.3, 9))},
      {"unique_few_matches", unique_shape(shape(4000, 4000, 4, 16)),
       unique_shape(shape(6000, 60000, 4, 4)), 3},
  };
  return all;
}

struct Selection {
  const char* name;
  bool pairs;
  std::vector<int32_t> left;
  std::vector<int32_t> right;
};

// What the host asks for: pairs alone, columns alone, both; keys on either side, none; a column
// twice; columns of one width, of which matches that write columns have kernels of their own: 4
// bytes as pairs are, and 8.
const std::vector<Selection>& selections() {
  static const std::vector<Selection> all = {
      {"pairs", true, {}, {}},
      {"key_and_payloads", false, {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}},
      {"both", true, {3}, {0, 4, 1, 4}},
      {"right_only", false, {}, {2, 0}},
      {"eight_bytes", false, {4}, {4, 0}},
      {"lone_values", false, {3}, {3}},
  };
  return all;
}

gpujoin_plan_options options_of(const plan::JoinPlan& plan, int32_t radix_bits) {
  gpujoin_plan_options options = tests::options_of(plan);
  if (radix_bits != 0 && plan::partitions(plan.transform)) {
    int32_t const passes = std::max(plan.passes, 1);
    options.radix_bits =
        std::clamp(radix_bits, passes, passes * plan::most_bits_per_pass(plan.transform));
  }
  return options;
}

struct Expected {
  std::vector<Row> rows;
  RowFingerprint fingerprint;
};

// "" when the result has the rows of the reference: sorted and compared one by one for the plans
// with a name, by their fingerprint for the many others.
std::string difference(base::Queue& queue, const execute::PlannedJoin& join,
                       const Expected& expected) {
  auto const result = execute::execute(queue, join);
  if (result->rows != static_cast<int64_t>(expected.rows.size())) {
    return std::to_string(result->rows) + " rows instead of " +
           std::to_string(expected.rows.size());
  }
  bool const same = plan::algorithm_name(join.choice.plan()).empty()
                        ? fingerprint_of(queue, *result) == expected.fingerprint
                        : rows_of(queue, *result) == expected.rows;
  return same ? "" : "other rows";
}

void run_plan(base::Queue& queue, const std::shared_ptr<columns::Relation>& left,
              const std::shared_ptr<columns::Relation>& right, const columns::JoinSpec& spec,
              const plan::JoinPlan& plan, int32_t radix_bits, const Expected& expected) {
  gpujoin_plan_options const options = options_of(plan, radix_bits);
  execute::PlannedJoin join = execute::make_plan(queue, left, right, spec, options);
  plan::JoinPlan obeyed = join.choice.plan();
  obeyed.radix_bits = plan.radix_bits;
  obeyed.expected_rows = plan.expected_rows;
  ASSERT_TRUE(obeyed == plan) << plan::to_text(join.choice.plan());
  ASSERT_EQ(difference(queue, join, expected), "");
  if (expected.rows.size() < 2000) return;
  // The same with hardly any room at first: the match stops, is given room and goes on.
  for (plan::Attempt& attempt : join.choice.attempts) attempt.plan.expected_rows = 1;
  ASSERT_EQ(difference(queue, join, expected), "");
}

constexpr size_t kAllRows = SIZE_MAX;

struct Inputs {
  bool on_device;
  size_t least_rows = 0;  // of both sides together
  size_t most_rows = kAllRows;
  bool every_selection = true;  // with plans that have a name
};

// Plans with a name meet every selection; of the many combinations beside them, each meets another
// selection with each pair of relations.
bool is_run(const plan::JoinPlan& plan, bool every_selection, size_t number, size_t relations,
            size_t selection) {
  if (every_selection && !plan::algorithm_name(plan).empty()) return true;
  return (number + relations) % selections().size() == selection;
}

void run_plans(gpujoin_device device, const std::vector<plan::JoinPlan>& plans,
               const Inputs& inputs) {
  auto const queue = open_queue(device);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  ASSERT_FALSE(plans.empty());
  size_t joins = 0;
  size_t pairs_of_relations = 0;
  for (size_t c = 0; c < cases().size(); ++c) {
    Case const& relations = cases()[c];
    size_t const rows = relations.left.rows + relations.right.rows;
    if (rows < inputs.least_rows || rows > inputs.most_rows) continue;
    ++pairs_of_relations;
    HostRelation const left = random_relation(relations.left, 2 * c + 2);
    HostRelation const right = random_relation(relations.right, 2 * c + 3);
    auto const left_relation = register_relation(queue, left, inputs.on_device);
    auto const right_relation = register_relation(queue, right, inputs.on_device);
    for (size_t s = 0; s < selections().size(); ++s) {
      columns::JoinSpec const spec = spec_of(selections()[s]);
      Expected expected;
      expected.rows = reference_join(left, right, spec);
      expected.fingerprint = fingerprint_of(expected.rows);
      for (size_t p = 0; p < plans.size(); ++p) {
        if (!is_run(plans[p], inputs.every_selection, p, c, s)) continue;
        SCOPED_TRACE(std::string(relations.name) + ", " + selections()[s].name + ", " +
                     plan::to_text(plans[p]));
        run_plan(queue, left_relation, right_relation, spec, plans[p], relations.radix_bits,
                 expected);
        if (::testing::Test::HasFatalFailure()) return;
        ++joins;
      }
    }
  }
  std::cout << "every_plan: " << plans.size() << " legal plans, " << pairs_of_relations
            << " pairs of relations, " << selections().size() << " selections, " << joins
            << " joins\n";
}

// Of the outputs in pages, each plan with another page size.
std::vector<plan::JoinPlan> plans_on(plan::Device device) {
  constexpr int32_t kPagePairs[] = {1, 2, 4, 8, 64, 1000};
  std::vector<plan::JoinPlan> plans = plan::legal_plans(device);
  size_t paged = 0;
  for (plan::JoinPlan& plan : plans) {
    bool const pages = plan.output == plan::Output::kThreadPages;
    bool const chunks = plan.output == plan::Output::kBlockChunks;
    if ((pages || chunks) && !plan::writes_columns(plan.gather))
      plan.page_pairs = kPagePairs[paged++ % std::size(kPagePairs)];
  }
  return plans;
}

// Every way to the device, with every filter, transform, match and gather once.
std::vector<plan::JoinPlan> plans_from_host_memory() {
  std::set<std::tuple<plan::Filter, plan::Transform, plan::Match, plan::Gather>> seen;
  std::vector<plan::JoinPlan> plans;
  for (plan::JoinPlan plan : plan::legal_plans(plan::Device::kCuda)) {
    bool const is_first =
        seen.insert({plan.filter, plan.transform, plan.match, plan.gather}).second;
    if (!is_first && plan::algorithm_name(plan).empty()) continue;
    for (int32_t transfer = GPUJOIN_TRANSFER_EXPLICIT_COPIES;
         transfer <= GPUJOIN_TRANSFER_PROBE_CHUNKS; ++transfer) {
      plan.transfer = static_cast<plan::Transfer>(transfer);
      bool const chunks = plan.transfer == plan::Transfer::kProbeChunks;
      plan.probe_chunk_rows = chunks ? 1700 : 0;
      if (!plan::why_illegal(plan)) plans.push_back(plan);
    }
  }
  return plans;
}

TEST(EveryPlan, OnTheCpuAnswersAsTheReference) {
  run_plans(GPUJOIN_DEVICE_CPU, plans_on(plan::Device::kCpu), {.on_device = false});
}
TEST(EveryPlan, OnTheGpuAnswersAsTheReference) {
  run_plans(GPUJOIN_DEVICE_CUDA, plans_on(plan::Device::kCuda), {.on_device = true});
}
// Few and small enough for the slow tools, a transform at a time. They do not see what child
// kernels write.
class SmallPlans : public ::testing::TestWithParam<plan::Transform> {};
TEST_P(SmallPlans, AnswerAsTheReference) {
  if (plan::is_of_papers(GetParam()) && !plan::has_papers()) {
    GTEST_SKIP() << "built without the papers' techniques";
  }
  std::vector<plan::JoinPlan> plans = plans_on(plan::Device::kCuda);
  std::erase_if(plans, [](const plan::JoinPlan& plan) {
    return plan.transform != GetParam() || plan.build_side != plan::Side::kLeft ||
           plan.passes > 1 || plan.skew == plan::Skew::kChildKernels;
  });
  run_plans(GPUJOIN_DEVICE_CUDA, plans,
            {.on_device = true, .least_rows = 66, .most_rows = 85, .every_selection = false});
}
INSTANTIATE_TEST_SUITE_P(
    EveryTransform, SmallPlans,
    ::testing::Values(plan::Transform::kNone, plan::Transform::kRadixOnesweep,
                      plan::Transform::kRadixSort, plan::Transform::kHistogramThread,
                      plan::Transform::kHistogramWarp, plan::Transform::kHistogramBlock,
                      plan::Transform::kBucketChains, plan::Transform::kMergeSort,
                      plan::Transform::kRadixUnordered, plan::Transform::kWriteCombined),
    [](const auto& parameter) { return std::string(plan::to_text(parameter.param)); });
TEST(EveryPlan, OnTheGpuFromHostMemoryAnswersAsTheReference) {
  run_plans(GPUJOIN_DEVICE_CUDA, plans_from_host_memory(),
            {.on_device = false, .every_selection = false});
}

}  // namespace
}  // namespace gpujoin::tests
