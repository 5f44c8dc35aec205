// operation_decide_test.cpp: operations whose residual the caller evaluates as pieces are joined.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/abi/decided_rows.hpp"
#include "tests/abi/fixture.hpp"
#include "tests/abi/operation_results.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kKey = 0;
constexpr int32_t kValue = 1;

struct Side {
  std::vector<std::optional<int32_t>> keys;
  std::vector<int64_t> values;

  Side(std::mt19937& random, size_t rows, int32_t distinct) : keys(rows), values(rows) {
    for (size_t i = 0; i < rows; ++i) {
      if (random() % 8 != 0)
        keys[i] = static_cast<int32_t>(random() % static_cast<uint32_t>(distinct));
      values[i] = static_cast<int64_t>(random() % 100);
    }
  }
  Table slice(size_t first, size_t rows) const {
    auto const at = static_cast<std::ptrdiff_t>(first);
    auto const end = at + static_cast<std::ptrdiff_t>(rows);
    return {Column("k", GPUJOIN_TYPE_INT32,
                   std::vector<std::optional<int32_t>>(keys.begin() + at, keys.begin() + end)),
            Column("v", GPUJOIN_TYPE_INT64,
                   std::vector<int64_t>(values.begin() + at, values.begin() + end))};
  }
};

bool matches(int64_t left, int64_t right) { return (left + 2 * right) % 3 == 0; }

// The pairs that match, by key.
std::vector<Pair> matches_of(const Side& left, const Side& right) {
  std::map<int32_t, std::vector<size_t>> by_key;
  for (size_t j = 0; j < right.keys.size(); ++j) {
    if (right.keys[j]) by_key[*right.keys[j]].push_back(j);
  }
  std::vector<Pair> pairs;
  for (size_t i = 0; i < left.keys.size(); ++i) {
    if (!left.keys[i]) continue;
    for (size_t const j : by_key[*left.keys[i]]) {
      if (!matches(left.values[i], right.values[j])) continue;
      pairs.emplace_back(static_cast<int64_t>(i), static_cast<int64_t>(j));
    }
  }
  return pairs;
}

// What the decider looks at, and what it is to answer with.
struct Decider {
  const Side* left = nullptr;
  const Side* right = nullptr;
  gpujoin_status status = GPUJOIN_OK;
  std::atomic<int64_t> candidates{0};
  std::atomic<int64_t> mistakes{0};

  // Row numbers of both sides, then one column of each.
  static gpujoin_status decide(int64_t rows, ArrowSchema* schema, ArrowArray* array,
                               uint8_t* matching, void* user) {
    auto* const self = static_cast<Decider*>(user);
    self->candidates += rows;
    if (self->status != GPUJOIN_OK) return self->status;
    bool const is_whole = schema->n_children == 4 && array->n_children == 4 &&
                          array->length == rows && rows <= 65536 &&
                          std::string(schema->children[0]->name) == "left_row" &&
                          std::string(schema->children[3]->name) == "v";
    if (!is_whole) {
      ++self->mistakes;
      return GPUJOIN_ERROR_INTERNAL;
    }
    auto const column = [&](int64_t i) {
      const ArrowArray& child = *array->children[i];
      return static_cast<const int64_t*>(child.buffers[1]) + child.offset + array->offset;
    };
    for (int64_t i = 0; i < rows; ++i) {
      auto const left = static_cast<size_t>(column(0)[i]);
      auto const right = static_cast<size_t>(column(1)[i]);
      bool const is_right = left < self->left->keys.size() && right < self->right->keys.size() &&
                            self->left->keys[left].has_value() &&
                            self->left->keys[left] == self->right->keys[right] &&
                            self->left->values[left] == column(2)[i] &&
                            self->right->values[right] == column(3)[i];
      if (!is_right) ++self->mistakes;
      matching[i] = matches(column(2)[i], column(3)[i]) ? 1 : 0;
    }
    return GPUJOIN_OK;
  }
};

class OperationDecide : public DeviceTest {
 protected:
  OperationDecide() {
    node_.operation = GPUJOIN_OPERATOR_CALLER;
    condition_.node_count = 1;
    condition_.nodes = &node_;
    spec_.key_count = 1;
    spec_.left_keys = spec_.right_keys = &kKey;
    spec_.output = GPUJOIN_OUTPUT_PAIRS;
    spec_.residual = &condition_;
    operation_.has_row_numbers = 1;
    operation_.plan = &plan_;
    operation_.decide = Decider::decide;
    operation_.decide_user = &decider_;
    operation_.decide_left_columns = operation_.decide_right_columns = &kValue;
    operation_.decide_left_column_count = operation_.decide_right_column_count = 1;
    decider_.left = &left_;
    decider_.right = &right_;
  }

  // host_limit: beyond which rows go to files; 0: none.
  void begin(uint64_t host_limit) {
    gpujoin_context_options given = options();
    given.host_limit_bytes = host_limit;
    if (host_limit != 0) given.spill_path = "/tmp";
    context_ = make_context(given);
  }

  std::vector<Pair> expected(gpujoin_join_kind kind) const {
    return expected_rows(kind, left_.keys.size(), right_.keys.size(), matches_of(left_, right_));
  }

  Build build_of(const Side& side, size_t batch) {
    gpujoin_build_options build_options = GPUJOIN_BUILD_OPTIONS_INIT;
    build_options.has_row_numbers = 1;
    Table const like = side.slice(0, 0);
    Relation const none = make_relation(context_, like);
    gpujoin_build* made = nullptr;
    EXPECT_OK(call(gpujoin_build_create, context_.get(), none.get(), &kKey, 1,
                   static_cast<const int32_t*>(nullptr), &build_options, &made));
    Build build(made);
    for (size_t first = 0; first < side.keys.size(); first += batch) {
      Table const table = side.slice(first, std::min(batch, side.keys.size() - first));
      Relation const rows = make_relation(context_, table);
      EXPECT_OK(call(gpujoin_build_append, build.get(), rows.get(), static_cast<int64_t>(first)));
    }
    EXPECT_OK(call(gpujoin_build_finish, build.get()));
    return build;
  }

  Operation operation_of(const Build& build, const Side& probe) {
    Table const like = probe.slice(0, 0);
    Relation const none = make_relation(context_, like);
    gpujoin_operation* made = nullptr;
    EXPECT_OK(call(gpujoin_operation_create, build.get(), none.get(), &spec_, &operation_, &made));
    return Operation(made);
  }

  // The rows that are there; the answer that ended it, if one did.
  template <typename From, typename Next>
  Answer take(From* from, Next next, std::vector<Pair>* rows) const {
    return take_results(from, next, [&](const Result& result) {
      auto const some = rows_of_kind(result, spec_.kind);
      rows->insert(rows->end(), some.begin(), some.end());
    });
  }

  // All rows of the probe side by `count` probes on as many threads.
  std::vector<Pair> join(const Build& build, const Side& probe, size_t batch, size_t count) {
    Operation const operation = operation_of(build, probe);
    std::vector<std::vector<Pair>> rows(count);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        gpujoin_probe* made = nullptr;
        EXPECT_OK(call(gpujoin_probe_create, operation.get(), &made));
        Probe const mine(made);
        for (size_t first = t * batch; first < probe.keys.size(); first += count * batch) {
          Table const table = probe.slice(first, std::min(batch, probe.keys.size() - first));
          Relation const some = make_relation(context_, table);
          auto const number = static_cast<int64_t>(first);
          Answer answer = call(gpujoin_probe_append, mine.get(), some.get(), number);
          while (answer.status == GPUJOIN_ERROR_NOT_READY) {
            EXPECT_OK(take(mine.get(), gpujoin_probe_next, &rows[t]));
            answer = call(gpujoin_probe_append, mine.get(), some.get(), number);
          }
          EXPECT_OK(answer);
        }
        EXPECT_OK(call(gpujoin_probe_finish, mine.get()));
        EXPECT_OK(take(mine.get(), gpujoin_probe_next, &rows[t]));
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_OK(call(gpujoin_operation_close, operation.get()));
    EXPECT_OK(take(operation.get(), gpujoin_operation_next, &rows[0]));
    std::vector<Pair> all;
    for (auto const& some : rows) all.insert(all.end(), some.begin(), some.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  void expect_right(gpujoin_join_kind kind, bool build_left, size_t batch, size_t count) {
    SCOPED_TRACE(testing::Message() << "kind " << kind << ", build_left " << build_left);
    spec_.kind = kind;
    plan_.build_side = build_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
    Build const build = build_of(build_left ? left_ : right_, batch);
    EXPECT_EQ(join(build, build_left ? right_ : left_, batch, count), expected(kind));
    EXPECT_EQ(decider_.mistakes, 0);
    EXPECT_GT(decider_.candidates, 0);
  }

  gpujoin_node node_ = GPUJOIN_NODE_INIT;
  gpujoin_condition condition_ = GPUJOIN_CONDITION_INIT;
  gpujoin_join_spec spec_ = GPUJOIN_JOIN_SPEC_INIT;
  gpujoin_plan_options plan_ = GPUJOIN_PLAN_OPTIONS_INIT;
  gpujoin_operation_options operation_ = GPUJOIN_OPERATION_OPTIONS_INIT;
  std::mt19937 random_{7};
  Side left_{random_, 1500, 300};
  Side right_{random_, 900, 300};
  Decider decider_;
  Context context_;
};
ON_EVERY_DEVICE(OperationDecide);

constexpr gpujoin_join_kind kKinds[] = {GPUJOIN_JOIN_INNER,      GPUJOIN_JOIN_LEFT,
                                        GPUJOIN_JOIN_RIGHT,      GPUJOIN_JOIN_FULL,
                                        GPUJOIN_JOIN_LEFT_SEMI,  GPUJOIN_JOIN_LEFT_ANTI,
                                        GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI};

TEST_P(OperationDecide, EveryKind) {
  begin(0);
  for (gpujoin_join_kind const kind : kKinds) {
    for (bool const build_left : {false, true}) expect_right(kind, build_left, 128, 3);
  }
}

// Partitions of both sides, whose rows meet when all have come.
TEST_P(OperationDecide, BeyondMemory) {
  left_ = Side(random_, 40000, 20000);
  right_ = Side(random_, 30000, 20000);
  begin(uint64_t{1} << 20);
  for (gpujoin_join_kind const kind : {GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_RIGHT_ANTI}) {
    for (bool const build_left : {false, true}) expect_right(kind, build_left, 2048, 2);
  }
}

// One key: more candidates than are shown at once.
TEST_P(OperationDecide, OfOneKey) {
  begin(0);
  for (Side* const side : {&left_, &right_}) {
    for (auto& key : side->keys) key = 5;
  }
  expect_right(GPUJOIN_JOIN_INNER, false, 700, 1);
  EXPECT_EQ(decider_.candidates, 1500 * 900);
}

// What it answers the call ends with, and the build goes on.
TEST_P(OperationDecide, FailsWithTheCall) {
  begin(0);
  spec_.kind = GPUJOIN_JOIN_INNER;
  Build const build = build_of(right_, 900);
  for (auto const& [status, expected] : {std::pair<gpujoin_status, gpujoin_status>{
                                             GPUJOIN_ERROR_EVALUATION, GPUJOIN_ERROR_EVALUATION},
                                         {4711, GPUJOIN_ERROR_INVALID_ARGUMENT}}) {
    decider_.status = status;
    Operation const operation = operation_of(build, left_);
    gpujoin_probe* made = nullptr;
    ASSERT_OK(call(gpujoin_probe_create, operation.get(), &made));
    Probe const probe(made);
    Table const table = left_.slice(0, left_.keys.size());
    Relation const rows = make_relation(context_, table);
    ASSERT_OK(call(gpujoin_probe_append, probe.get(), rows.get(), int64_t{0}));
    ASSERT_OK(call(gpujoin_probe_flush, probe.get()));
    std::vector<Pair> none;
    EXPECT_NAMES(take(probe.get(), gpujoin_probe_next, &none), expected, "options.decide");
    EXPECT_TRUE(none.empty());
  }
  decider_.status = GPUJOIN_OK;
  EXPECT_EQ(join(build, left_, 500, 1), expected(GPUJOIN_JOIN_INNER));
}

TEST_P(OperationDecide, RefusesWhatCannotBeRight) {
  begin(0);
  spec_.kind = GPUJOIN_JOIN_INNER;
  Build const build = build_of(right_, 900);
  Table const like = left_.slice(0, 0);
  Relation const none = make_relation(context_, like);
  auto const refused = [&](const char* word, gpujoin_status status) {
    gpujoin_operation* made = nullptr;
    EXPECT_NAMES(
        call(gpujoin_operation_create, build.get(), none.get(), &spec_, &operation_, &made), status,
        word);
    EXPECT_EQ(made, nullptr);
  };
  gpujoin_operation_options const given = operation_;
  operation_.decide = nullptr;
  refused("options.decide", GPUJOIN_ERROR_INVALID_ARGUMENT);
  operation_ = given;
  int32_t const far = 2;
  operation_.decide_left_columns = &far;
  refused("options.decide_left_columns[0]", GPUJOIN_ERROR_INVALID_ARGUMENT);
  operation_ = given;
  operation_.decide_right_columns = nullptr;
  refused("options.decide_right_columns", GPUJOIN_ERROR_INVALID_ARGUMENT);
  operation_ = given;
  operation_.decide_right_column_count = -1;
  refused("options.decide_right_column_count", GPUJOIN_ERROR_INVALID_ARGUMENT);
  operation_ = given;
  spec_.residual = nullptr;
  refused("options.decide", GPUJOIN_ERROR_INVALID_ARGUMENT);
  spec_.residual = &condition_;
  spec_.kind = GPUJOIN_JOIN_LEFT_MARK;
  refused("spec.residual", GPUJOIN_ERROR_UNSUPPORTED);
}

}  // namespace
