// probe_chunks_test.cpp: joins whose probe side goes through in chunks, of every family, at every
// border of a chunk; and what the other transfers must answer alike.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

class ProbeChunks : public ::testing::Test {
 protected:
  void SetUp() override {
    queue_ = open(0);
    if (queue_ == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  }

  static OwnQueue open(uint64_t limit, gpujoin_progress_function progress = nullptr,
                       void* user = nullptr) {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CUDA;
    options.memory_limit_bytes = limit;
    options.progress = progress;
    options.progress_user = user;
    return open_queue(options);
  }

  OwnQueue queue_;
};

gpujoin_plan_options options_of(plan::JoinPlan plan, gpujoin_transfer transfer,
                                int64_t chunk_rows) {
  plan.transfer = static_cast<plan::Transfer>(transfer);
  plan.probe_chunk_rows = chunk_rows;
  return tests::options_of(plan);
}

struct Selection {
  bool pairs;
  std::vector<int32_t> left;
  std::vector<int32_t> right;
};

const std::vector<Selection>& selections() {
  static const std::vector<Selection> all = {
      {true, {}, {}},
      {false, {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}},
      {true, {3, 1}, {0, 4, 1, 4}},
  };
  return all;
}

// One plan of each family with each gather and build side: how skew and output are dealt with does
// not change with the transfer, and every_plan_test has it all.
std::vector<plan::JoinPlan> plans_of_each_family() {
  std::vector<plan::JoinPlan> plans;
  std::set<std::tuple<plan::Transform, plan::Match, plan::Gather, plan::Side>> seen;
  for (plan::JoinPlan const& plan : plan::legal_plans(plan::Device::kCuda)) {
    if (seen.emplace(plan.transform, plan.match, plan.gather, plan.build_side).second) {
      plans.push_back(plan);
    }
  }
  return plans;
}

std::vector<plan::JoinPlan> chunk_plans() {
  std::vector<plan::JoinPlan> plans = plans_of_each_family();
  std::erase_if(plans, [](plan::JoinPlan plan) {
    plan.transfer = plan::Transfer::kProbeChunks;
    return plan::why_illegal(plan).has_value();
  });
  return plans;
}

std::vector<Row> run(base::Queue& queue, const std::shared_ptr<columns::Relation>& left,
                     const std::shared_ptr<columns::Relation>& right, const columns::JoinSpec& spec,
                     const gpujoin_plan_options& options) {
  auto const join = execute::make_plan(queue, left, right, spec, options);
  EXPECT_EQ(join.choice.plan().transfer, static_cast<plan::Transfer>(options.transfer));
  auto const result = execute::execute(queue, join);
  if (options.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS) {
    EXPECT_EQ(result->memory, base::Memory::kHost);
  }
  return rows_of(queue, *result);
}

RelationShape shape(size_t rows, uint64_t distinct, int32_t key_width = 4, double nulls = 0,
                    int64_t bit_offset = 0) {
  return {rows, key_width, distinct, 1, nulls, nulls, bit_offset};
}

TEST_F(ProbeChunks, AnswerAsTheReferenceWhateverTheirSize) {
  struct Case {
    RelationShape left;
    RelationShape right;
    std::vector<int64_t> chunk_rows;
  };
  const std::vector<Case> cases = {
      {shape(0, 1), shape(20, 5), {7}},
      {shape(20, 5), shape(0, 1), {7}},
      {shape(19, 7), shape(23, 7), {1, 22, 24}},
      {shape(19, 7, 4, 0.3, 5), shape(23, 7, 4, 0.3, 6), {7, 8, 9, 1000}},
      {shape(3000, 2000, 4, 0.2, 5), shape(4000, 2000, 4, 0.1, 13), {333, 1001, 4096}},
      {shape(3000, 900, 8, 0.2, 1), shape(2500, 900, 8, 0.2, 9), {177, 1024, 0}},
      {shape(90, 1), shape(70, 1), {10, 69}},
      {shape(6000, 8000), shape(9000, 8000), {999, 5000}},
  };
  std::vector<plan::JoinPlan> const plans = chunk_plans();
  ASSERT_FALSE(plans.empty());
  uint64_t const in_use = queue_->device_pool->in_use_bytes();
  uint64_t seed = 100;
  for (Case const& c : cases) {
    HostRelation const left = random_relation(c.left, ++seed);
    HostRelation const right = random_relation(c.right, ++seed);
    for (bool on_device : {false, true}) {
      auto const left_relation = register_relation(queue_, left, on_device);
      auto const right_relation = register_relation(queue_, right, on_device);
      // Every selection meets small and large, with NULLs and without, on the host and on the
      // device.
      for (size_t s = on_device ? 1 : 0; s < selections().size(); s += 2) {
        columns::JoinSpec const spec = spec_of(selections()[(seed / 2 + s) % selections().size()]);
        std::vector<Row> const expected = reference_join(left, right, spec);
        for (plan::JoinPlan const& plan : plans) {
          for (int64_t const chunk_rows : c.chunk_rows) {
            SCOPED_TRACE(plan::to_text(plan) + ", " + std::to_string(c.left.rows) + " x " +
                         std::to_string(c.right.rows) + " in chunks of " +
                         std::to_string(chunk_rows) + (on_device ? " on the device" : ""));
            ASSERT_TRUE(run(queue_, left_relation, right_relation, spec,
                            options_of(plan, GPUJOIN_TRANSFER_PROBE_CHUNKS, chunk_rows)) ==
                        expected);
          }
        }
      }
    }
  }
  EXPECT_EQ(queue_->device_pool->in_use_bytes(), in_use);
}

// One side on the device and one on the host, either way round.
TEST_F(ProbeChunks, TakeSidesWhereverTheyAre) {
  HostRelation const left = random_relation(shape(700, 500, 4, 0.1, 3), 1);
  HostRelation const right = random_relation(shape(900, 500, 4, 0.1, 5), 2);
  columns::JoinSpec const spec = spec_of(selections()[2]);
  std::vector<Row> const expected = reference_join(left, right, spec);
  for (bool left_on_device : {false, true}) {
    auto const left_relation = register_relation(queue_, left, left_on_device);
    auto const right_relation = register_relation(queue_, right, !left_on_device);
    for (plan::JoinPlan const& plan : chunk_plans()) {
      SCOPED_TRACE(plan::to_text(plan));
      ASSERT_TRUE(run(queue_, left_relation, right_relation, spec,
                      options_of(plan, GPUJOIN_TRANSFER_PROBE_CHUNKS, 131)) == expected);
    }
  }
}

TEST_F(ProbeChunks, SayHowManyThereWere) {
  HostRelation const host = random_relation(shape(1000, 500), 1);
  auto const relation = register_relation(queue_, host, false);
  plan::JoinPlan const plan = chunk_plans().front();
  auto const join = execute::make_plan(queue_, relation, relation, spec_of(selections()[1]),
                                       options_of(plan, GPUJOIN_TRANSFER_PROBE_CHUNKS, 300));
  auto const result = execute::execute(queue_, join);
  auto const& stages = result->statistics.stages;
  ASSERT_FALSE(stages.empty());
  EXPECT_EQ(stages.front().technique, "probe_chunks, 4 of 300 rows");
  std::vector<std::string> names;
  for (auto const& stage : stages) names.push_back(stage.stage);
  EXPECT_EQ(names, (std::vector<std::string>{"transfer", "transform", "match", "materialize"}));
}

// A limit far below the probe side; one below a single chunk; one that the caller's chunk size does
// not fit.
TEST_F(ProbeChunks, StayBelowTheLimit) {
  constexpr size_t kProbeRows = 2'000'000;  // 34 MB of keys, numbers and payloads
  HostRelation build;
  HostRelation probe;
  for (HostRelation* relation : {&build, &probe}) {
    relation->rows = relation == &build ? 5000 : kProbeRows;
    relation->columns.resize(2);
    for (size_t i = 0; i < 2; ++i) {
      HostColumn& column = relation->columns[i];
      column.type = i == 0 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
      column.width = i == 0 ? 4 : 8;
      column.data.resize(relation->rows * static_cast<size_t>(column.width));
      for (size_t row = 0; row < relation->rows; ++row) {
        uint64_t const value = i == 0 ? row % 5000 : row * 3;
        std::memcpy(&column.data[row * static_cast<size_t>(column.width)], &value,
                    static_cast<size_t>(column.width));
      }
    }
  }
  columns::JoinSpec spec;
  spec.pairs = true;
  spec.materialize = true;
  spec.left_columns = {1};
  spec.right_columns = {0, 1};
  for (uint64_t limit : {uint64_t{24} << 20, uint64_t{1} << 20}) {
    auto const queue = open(limit);
    uint64_t const in_use = queue->device_pool->in_use_bytes();
    auto const left = register_relation(queue, build, false);
    auto const right = register_relation(queue, probe, false);
    for (plan::JoinPlan plan : chunk_plans()) {
      if (plan.build_side != plan::Side::kLeft) continue;
      SCOPED_TRACE(plan::to_text(plan) + ", limit " + std::to_string(limit));
      auto options = options_of(plan, GPUJOIN_TRANSFER_PROBE_CHUNKS, 0);
      auto const execute_it = [&] {
        return execute::execute(queue, execute::make_plan(queue, left, right, spec, options));
      };
      std::unique_ptr<columns::JoinResult> result;
      try {
        result = execute_it();
      } catch (const base::Error& error) {
        // Pages of growing output, and the columns of rows as far as they are partitioned, are more
        // than the lower limit alone.
        EXPECT_LT(limit, uint64_t{2} << 20);
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
      }
      if (result != nullptr) {
        ASSERT_EQ(result->rows, static_cast<int64_t>(kProbeRows));
        EXPECT_LE(result->statistics.peak_memory_bytes, limit);
        auto const* probe_rows = static_cast<const uint32_t*>(result->right_rows.get());
        auto const* build_rows = static_cast<const uint32_t*>(result->left_rows.get());
        auto const* values = static_cast<const int64_t*>(result->columns[2].data.get());
        std::vector<bool> seen(kProbeRows);
        for (size_t row = 0; row < kProbeRows; ++row) {
          ASSERT_FALSE(seen[probe_rows[row]]);
          seen[probe_rows[row]] = true;
          ASSERT_EQ(build_rows[row], probe_rows[row] % 5000);
          ASSERT_EQ(values[row], int64_t{probe_rows[row]} * 3);
        }
        result = nullptr;
        options.probe_chunk_rows = kProbeRows;
        EXPECT_THROW(execute_it(), base::Error);
      }
      EXPECT_EQ(queue->device_pool->in_use_bytes(), in_use);
    }
  }
}

TEST_F(ProbeChunks, StopBetweenChunksWhenAsked) {
  struct Calls {
    int left = 0;
  } calls;
  auto const queue = open(
      0,
      [](const char*, int64_t, int64_t, void* user) -> int32_t {
        return --static_cast<Calls*>(user)->left < 0 ? 1 : 0;
      },
      &calls);
  HostRelation const host = random_relation(shape(3000, 2000, 4, 0.1, 3), 1);
  auto const relation = register_relation(queue, host, false);
  uint64_t const in_use = queue->device_pool->in_use_bytes();
  for (plan::JoinPlan const& plan : chunk_plans()) {
    auto const join = execute::make_plan(queue, relation, relation, spec_of(selections()[1]),
                                         options_of(plan, GPUJOIN_TRANSFER_PROBE_CHUNKS, 500));
    for (int allowed : {0, 1, 3, 6, 9, 14}) {
      calls.left = allowed;
      try {
        execute::execute(queue, join);
        ADD_FAILURE() << "it went on after " << allowed << " steps";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
      }
      EXPECT_EQ(queue->device_pool->in_use_bytes(), in_use);
    }
  }
}

// The same answer from every transfer, for every plan.
TEST_F(ProbeChunks, OtherTransfersAnswerAsTheReference) {
  struct Sizes {
    RelationShape left;
    RelationShape right;
  };
  uint64_t seed = 50;
  for (Sizes const& sizes : {Sizes{shape(0, 1), shape(10, 5)}, Sizes{shape(33, 20), shape(31, 20)},
                             Sizes{shape(3000, 2000, 4, 0.2, 5), shape(4000, 2000, 4, 0.1, 13)},
                             Sizes{shape(2500, 900, 8, 0.2, 1), shape(2500, 900, 8, 0, 0)}}) {
    HostRelation const left = random_relation(sizes.left, ++seed);
    HostRelation const right = random_relation(sizes.right, ++seed);
    auto const left_relation = register_relation(queue_, left, false);
    auto const right_relation = register_relation(queue_, right, false);
    for (Selection const& selection : selections()) {
      columns::JoinSpec const spec = spec_of(selection);
      std::vector<Row> const expected = reference_join(left, right, spec);
      for (plan::JoinPlan const& plan : plans_of_each_family()) {
        for (gpujoin_transfer transfer = GPUJOIN_TRANSFER_EXPLICIT_COPIES;
             transfer <= GPUJOIN_TRANSFER_ZERO_COPY; ++transfer) {
          if (plan::is_of_papers(static_cast<plan::Transfer>(transfer)) && !plan::has_papers()) {
            continue;
          }
          SCOPED_TRACE(plan::to_text(plan) + ", " +
                       plan::to_text(static_cast<plan::Transfer>(transfer)));
          std::vector<Row> found;
          try {
            found = run(queue_, left_relation, right_relation, spec, options_of(plan, transfer, 0));
          } catch (const base::Error& error) {
            ASSERT_EQ(error.status(), GPUJOIN_ERROR_UNSUPPORTED) << error.what();
            ASSERT_TRUE(transfer == GPUJOIN_TRANSFER_MANAGED ||
                        transfer == GPUJOIN_TRANSFER_MANAGED_PREFETCH);
            continue;
          }
          ASSERT_TRUE(found == expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
