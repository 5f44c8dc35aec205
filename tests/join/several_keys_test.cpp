// several_keys_test.cpp: joins on one to five key columns by every executor and every plan that
// can, against the reference.
#include <gtest/gtest.h>

#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

using Numbers = std::vector<int32_t>;

// Columns 0 to 5 as random_relation makes them, then key columns of 4, 8, 4 and 8 bytes with few
// values each; nulls: of every second one of them.
HostRelation relation_of(size_t rows, uint64_t distinct, double nulls, uint64_t seed) {
  RelationShape shape;
  shape.rows = rows;
  shape.distinct_keys = distinct;
  shape.null_keys = nulls;
  shape.null_payloads = 0.3;
  shape.bit_offset = 3;
  HostRelation relation = random_relation(shape, seed);
  std::mt19937_64 random(seed + 1);
  for (int32_t const width : {4, 8, 4, 8}) {
    HostColumn key;
    key.width = width;
    key.type = width == 4 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
    key.data.resize(rows * static_cast<size_t>(width));
    for (size_t row = 0; row < rows; ++row) {
      uint64_t const value = random() % distinct << (width == 8 ? 33 : 0);
      std::memcpy(&key.data[row * static_cast<size_t>(width)], &value, static_cast<size_t>(width));
    }
    if (width == 8) set_validity(&key, rows, nulls, 5, random);
    relation.columns.push_back(key);
  }
  return relation;
}

struct Keys {
  const char* name;
  Numbers left;
  Numbers right;
  uint64_t distinct;  // of each column: about as many keys as rows
};

const std::vector<Keys>& key_sets() {
  static const std::vector<Keys> all = {
      {"one of 4", {0}, {0}, 2000},
      {"one of 8", {7}, {9}, 2000},
      {"two", {0, 7}, {0, 7}, 45},
      {"two crossed", {6, 9}, {8, 7}, 45},
      {"three", {0, 6, 7}, {8, 6, 9}, 12},
      {"one column against two", {6, 6}, {0, 8}, 12},
      {"four", {6, 7, 8, 9}, {6, 7, 8, 9}, 7},
      {"five", {0, 6, 7, 8, 9}, {0, 8, 9, 6, 7}, 4},
  };
  return all;
}

struct Selection {
  const char* name;
  bool pairs;
  Numbers left;
  Numbers right;
};

// Keys of either side among the output, or none; all payload widths.
const std::vector<Selection>& selections() {
  static const std::vector<Selection> all = {
      {"pairs", true, {}, {}},
      {"keys and payloads", true, {0, 7, 3, 9}, {6, 1, 0, 5, 8}},
      {"payloads", false, {1, 2, 3}, {5, 4}},
  };
  return all;
}

std::vector<gpujoin_plan_options> plans_for(gpujoin_device device, gpujoin_transfer transfer = 0) {
  std::vector<gpujoin_plan_options> plans;
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = device;
  options.transfer = transfer;
  if (transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS) options.probe_chunk_rows = 700;
  for (gpujoin_side const side : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
    options.build_side = side;
    if (device == GPUJOIN_DEVICE_CUDA) {
      options.match = GPUJOIN_MATCH_ROW_MULTISET;
      options.output = GPUJOIN_OUTPUT_GROWN;
      plans.push_back(options);
      if (!plan::has_papers()) continue;
      options.output = GPUJOIN_OUTPUT_TWO_PASSES;
    }
    plans.push_back(options);
  }
  return plans;
}

void expect_right(gpujoin_device device, bool on_device, gpujoin_transfer transfer = 0) {
  auto const queue = open_queue(device);
  if (queue == nullptr) GTEST_SKIP() << "no CUDA device can be used";
  uint64_t seed = 1;
  for (Keys const& keys : key_sets()) {
    for (size_t const rows : {size_t{0}, size_t{1}, size_t{33}, size_t{2500}}) {
      HostRelation const left = relation_of(rows, keys.distinct, 0.15, ++seed);
      HostRelation const right = relation_of(rows + rows / 3, keys.distinct, 0.15, ++seed);
      auto const left_relation = register_relation(queue, left, on_device);
      auto const right_relation = register_relation(queue, right, on_device);
      for (Selection const& selection : selections()) {
        columns::JoinSpec spec = spec_of(selection);
        spec.left_keys = keys.left;
        spec.right_keys = keys.right;
        std::vector<Row> const expected = reference_join(left, right, spec);
        for (gpujoin_plan_options const& options : plans_for(device, transfer)) {
          auto join = execute::make_plan(queue, left_relation, right_relation, spec, options);
          SCOPED_TRACE(std::string(keys.name) + ", " + std::to_string(rows) + " rows, " +
                       selection.name + ", " + plan::to_text(join.choice.plan()));
          auto const result = execute::execute(queue, join);
          ASSERT_EQ(result->rows, static_cast<int64_t>(expected.size()));
          ASSERT_TRUE(rows_of(queue, *result) == expected);
          for (plan::Attempt& attempt : join.choice.attempts) attempt.plan.expected_rows = 1;
          ASSERT_TRUE(rows_of(queue, *execute::execute(queue, join)) == expected);
        }
      }
    }
  }
}

TEST(SeveralKeys, CpuAnswersAsTheReference) { expect_right(GPUJOIN_DEVICE_CPU, false); }
TEST(SeveralKeys, CudaAnswersAsTheReferenceFromDeviceMemory) {
  expect_right(GPUJOIN_DEVICE_CUDA, true);
}
TEST(SeveralKeys, CudaAnswersAsTheReferenceFromHostMemory) {
  for (gpujoin_transfer const transfer :
       {GPUJOIN_TRANSFER_EXPLICIT_COPIES, GPUJOIN_TRANSFER_OVERLAPPED_COPIES,
        GPUJOIN_TRANSFER_ZERO_COPY}) {
    if (transfer == GPUJOIN_TRANSFER_ZERO_COPY && !plan::has_papers()) continue;
    expect_right(GPUJOIN_DEVICE_CUDA, false, transfer);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::IsSkipped()) return;
  }
}
// The multiset of the build side serves all chunks.
TEST(SeveralKeys, CudaAnswersAsTheReferenceInChunks) {
  expect_right(GPUJOIN_DEVICE_CUDA, false, GPUJOIN_TRANSFER_PROBE_CHUNKS);
}

// A plan written by hand does not get around the rule.
TEST(SeveralKeys, APlanThatComparesOneKeyIsNotExecuted) {
  auto const queue = open_queue(GPUJOIN_DEVICE_CPU);
  HostRelation const host = relation_of(50, 3, 0, 1);
  auto const relation = register_relation(queue, host, false);
  columns::JoinSpec spec;
  spec.left_keys = spec.right_keys = {0, 6};
  spec.pairs = true;
  auto join = execute::make_plan(queue, relation, relation, spec, GPUJOIN_PLAN_OPTIONS_INIT);
  join.choice.attempts.front().plan.gather = plan::Gather::kTransformed;
  try {
    execute::execute(queue, join);
    ADD_FAILURE() << "executed";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_ILLEGAL_PLAN);
  }
}

TEST(SeveralKeys, ASmallMemoryLimitIsAnErrorOrTheAnswer) {
  for (gpujoin_device const device : {GPUJOIN_DEVICE_CPU, GPUJOIN_DEVICE_CUDA}) {
    HostRelation const left = relation_of(60000, 300, 0.1, 5);
    HostRelation const right = relation_of(60000, 300, 0.1, 6);
    columns::JoinSpec spec;
    spec.left_keys = spec.right_keys = {6, 7};
    spec.pairs = spec.materialize = true;
    spec.left_columns = {0, 5};
    spec.right_columns = {4};
    std::vector<Row> const expected = reference_join(left, right, spec);
    int failures = 0;
    int answers = 0;
    for (uint64_t limit = uint64_t{1} << 20; limit <= uint64_t{1} << 28; limit *= 4) {
      auto const queue = open_queue(device, limit);
      if (queue == nullptr) break;
      auto const left_relation = register_relation(queue, left, false);
      auto const right_relation = register_relation(queue, right, false);
      base::Pool const& pool =
          device == GPUJOIN_DEVICE_CPU ? *queue->host_pool : *queue->device_pool;
      uint64_t const in_use_at_start = pool.in_use_bytes();
      for (gpujoin_plan_options const& options : plans_for(device)) {
        try {
          auto const join = execute::make_plan(queue, left_relation, right_relation, spec, options);
          auto const result = execute::execute(queue, join);
          EXPECT_TRUE(rows_of(queue, *result) == expected);
          ++answers;
        } catch (const base::Error& error) {
          EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
          ++failures;
        }
        EXPECT_EQ(pool.in_use_bytes(), in_use_at_start) << "limit " << limit;
      }
    }
    if (answers + failures == 0) continue;
    EXPECT_GT(failures, 0);
    EXPECT_GT(answers, 0);
  }
}

}  // namespace
}  // namespace gpujoin::tests
