// without_keys_test.cpp: joins by a condition alone when they must not go on, and what is refused.
#include <string>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

// A condition of left column 0 and right column 0, and a specification with it and without keys.
struct WithoutKeys {
  explicit WithoutKeys(gpujoin_operator comparison, bool is_evaluated = false) {
    add(GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_LEFT);
    add(GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_RIGHT);
    add(comparison, 2);
    if (is_evaluated) {
      // Nothing that an order says anything about.
      add(GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_LEFT);
      add(GPUJOIN_OPERATOR_COLUMN, 0, GPUJOIN_SIDE_RIGHT);
      add(GPUJOIN_OPERATOR_NOT_EQUAL, 2);
      add(GPUJOIN_OPERATOR_AND, 2);
    }
    condition.node_count = static_cast<int32_t>(nodes.size());
    condition.nodes = nodes.data();
    spec.kind = GPUJOIN_JOIN_INNER;
    spec.residual = &condition;
    spec.output = GPUJOIN_OUTPUT_PAIRS;
  }
  void add(gpujoin_operator operation, int32_t arguments, gpujoin_side side = 0) {
    gpujoin_node node = GPUJOIN_NODE_INIT;
    node.operation = operation;
    node.argument_count = arguments;
    node.side = side;
    nodes.push_back(node);
  }
  std::vector<gpujoin_node> nodes;
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
};

Answer join(const Context& context, const Relation& left, const Relation& right,
            const gpujoin_join_spec& spec, Result* out,
            const gpujoin_plan_options* options = nullptr) {
  gpujoin_result* result = nullptr;
  Answer const answer =
      call(gpujoin_join, context.get(), left.get(), right.get(), &spec, options, &result);
  out->reset(result);
  return answer;
}

Table numbers(int32_t rows, int32_t first) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < rows; ++i) values.push_back(first + i);
  return {Column("a", GPUJOIN_TYPE_INT32, values)};
}

uint64_t used_bytes(const Context& context) {
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
  return info.memory_used_bytes;
}

class WithoutKeysTest : public DeviceTest {};
ON_EVERY_DEVICE(WithoutKeysTest);

}  // namespace

TEST_P(WithoutKeysTest, NeitherKeysNorAConditionIsRefused) {
  Context const context = make_context(options());
  Table const table = numbers(3, 0);
  Relation const relation = make_relation(context, table);
  WithoutKeys wish(GPUJOIN_OPERATOR_LESS);
  Result result;
  wish.spec.residual = nullptr;
  Answer const answer = join(context, relation, relation, wish.spec, &result);
  EXPECT_STATUS(answer, GPUJOIN_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(answer.message().find("spec.key_count"), std::string::npos);
}

TEST_P(WithoutKeysTest, KeysAndFlagsAreNotLookedAt) {
  Context const context = make_context(options());
  Table const table = numbers(3, 0);
  Relation const relation = make_relation(context, table);
  WithoutKeys wish(GPUJOIN_OPERATOR_LESS);
  int32_t const nonsense[] = {-5};
  wish.spec.left_keys = wish.spec.right_keys = wish.spec.key_flags = nonsense;
  Result result;
  ASSERT_OK(join(context, relation, relation, wish.spec, &result));
  EXPECT_EQ(rows_of(result), 3);
}

TEST_P(WithoutKeysTest, NoTechniqueCanBeNamed) {
  Context const context = make_context(options());
  Table const table = numbers(3, 0);
  Relation const relation = make_relation(context, table);
  WithoutKeys const wish(GPUJOIN_OPERATOR_LESS);
  gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
  plan.algorithm = GPUJOIN_ALGORITHM_NOP;
  Result result;
  EXPECT_STATUS(join(context, relation, relation, wish.spec, &result, &plan),
                GPUJOIN_ERROR_ILLEGAL_PLAN);
}

// 8 * 10^6 pairs of 8 bytes.
TEST_P(WithoutKeysTest, AMemoryLimitIsAnErrorAndGivesEverythingBack) {
  Table const left = numbers(4000, 0);
  Table const right = numbers(4000, 0);
  for (bool const is_evaluated : {false, true}) {
    int failures = 0;
    for (uint64_t limit = 1 << 19; limit <= uint64_t{1} << 28; limit *= 16) {
      gpujoin_context_options with_limit = options();
      with_limit.memory_limit_bytes = limit;
      Context const context = make_context(with_limit);
      {
        Relation const of_left = make_relation(context, left);
        Relation const of_right = make_relation(context, right);
        WithoutKeys const wish(GPUJOIN_OPERATOR_LESS, is_evaluated);
        // The CPU would join what the device has no room for.
        gpujoin_plan_options on_device = GPUJOIN_PLAN_OPTIONS_INIT;
        on_device.device = GetParam();
        Result result;
        Answer const answer = join(context, of_left, of_right, wish.spec, &result, &on_device);
        if (answer.status == GPUJOIN_OK) {
          EXPECT_EQ(rows_of(result), int64_t{4000} * 3999 / 2);
        } else {
          EXPECT_STATUS(answer, GPUJOIN_ERROR_MEMORY_LIMIT);
          ++failures;
        }
      }
      EXPECT_LE(used_bytes(context), limit);
    }
    // In pieces a device does with less.
    EXPECT_GE(failures, 1);
    EXPECT_LT(failures, 5);
  }
}

// Of 10^10 pairs nobody waits for the last one.
TEST_P(WithoutKeysTest, ANestedLoopIsCancelled) {
  if (device() != GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "a GPU reports stages, and is done sooner";
  Table const table = numbers(100000, 0);
  gpujoin_context_options impatient = options();
  int32_t calls = 0;
  impatient.progress_user = &calls;
  impatient.progress = [](const char*, int64_t, int64_t, void* user) -> int32_t {
    return ++*static_cast<int32_t*>(user) > 20 ? 1 : 0;
  };
  Context const context = make_context(impatient);
  Relation const relation = make_relation(context, table);
  WithoutKeys wish(GPUJOIN_OPERATOR_NOT_EQUAL);
  Result result;
  EXPECT_STATUS(join(context, relation, relation, wish.spec, &result), GPUJOIN_ERROR_CANCELLED);
}
