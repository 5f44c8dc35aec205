// residual_positions_test.cpp: residuals of many pairs a row, whose columns a GPU reads in the
// order of the keys, against the same pairs found by key on the host.
#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kKeys = 1 << 18;
constexpr size_t kRowsAKey = 5;

struct Side {
  std::vector<std::optional<int32_t>> keys;
  std::vector<std::optional<int64_t>> values;
  std::vector<std::vector<uint32_t>> rows_of_key;
  Table table() const {
    return {Column("k", GPUJOIN_TYPE_INT32, keys), Column("v", GPUJOIN_TYPE_INT64, values)};
  }
};

Side random_side(uint64_t seed, bool has_nulls) {
  std::mt19937_64 random(seed);
  Side side;
  side.rows_of_key.resize(kKeys);
  size_t const rows = kRowsAKey * kKeys;
  for (size_t row = 0; row < rows; ++row) {
    uint64_t const drawn = random();
    bool const has_key = !has_nulls || drawn % 16 != 0;
    bool const has_value = !has_nulls || drawn / 16 % 8 != 0;
    auto const key = static_cast<int32_t>(drawn >> 20 & (kKeys - 1));
    side.keys.push_back(has_key ? std::optional(key) : std::nullopt);
    side.values.push_back(has_value ? std::optional(static_cast<int64_t>(drawn >> 44) - (1 << 19))
                                    : std::nullopt);
    if (has_key) side.rows_of_key[static_cast<size_t>(key)].push_back(static_cast<uint32_t>(row));
  }
  return side;
}

// Pairs of which left.v < right.v.
std::vector<uint64_t> matches(const Side& left, const Side& right) {
  std::vector<uint64_t> pairs;
  for (size_t key = 0; key < kKeys; ++key) {
    for (uint32_t const l : left.rows_of_key[key]) {
      for (uint32_t const r : right.rows_of_key[key]) {
        auto const& of_left = left.values[l];
        auto const& of_right = right.values[r];
        if (of_left && of_right && *of_left < *of_right) pairs.push_back(uint64_t{l} << 32 | r);
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

class ResidualPositions : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context_ = make_context(options());
  }

  Answer join(gpujoin_join_kind kind, const Relation& left, const Relation& right,
              const std::vector<gpujoin_node>& nodes, gpujoin_algorithm algorithm, Result* out) {
    gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
    condition.node_count = static_cast<int32_t>(nodes.size());
    condition.nodes = nodes.data();
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    int32_t const key = 0;
    spec.kind = kind;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = &key;
    spec.residual = &condition;
    spec.output = GPUJOIN_OUTPUT_PAIRS;
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = algorithm;
    gpujoin_result* result = nullptr;
    Answer const answer =
        call(gpujoin_join, context_.get(), left.get(), right.get(), &spec, &options, &result);
    out->reset(result);
    return answer;
  }

  static std::vector<gpujoin_node> of_values(gpujoin_operator operation) {
    std::vector<gpujoin_node> nodes(3, GPUJOIN_NODE_INIT);
    nodes[0].operation = nodes[1].operation = GPUJOIN_OPERATOR_COLUMN;
    nodes[0].side = GPUJOIN_SIDE_LEFT;
    nodes[1].side = GPUJOIN_SIDE_RIGHT;
    nodes[0].column = nodes[1].column = 1;
    nodes[2].operation = operation;
    nodes[2].argument_count = 2;
    return nodes;
  }

  static std::vector<int64_t> numbers(const Result& result, int32_t of) {
    std::vector<int64_t> rows(static_cast<size_t>(rows_of(result)));
    gpujoin_fetch fetch = fetch_of(of, 0, rows.data(), rows.size() * sizeof(int64_t));
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
    return rows;
  }

  static std::vector<uint64_t> pairs_of(const Result& result) {
    auto const left = numbers(result, GPUJOIN_FETCH_LEFT_INDEX);
    auto const right = numbers(result, GPUJOIN_FETCH_RIGHT_INDEX);
    std::vector<uint64_t> pairs;
    for (size_t i = 0; i < left.size(); ++i) {
      pairs.push_back(static_cast<uint64_t>(left[i]) << 32 | static_cast<uint64_t>(right[i]));
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  void expect_rows_alone(const std::vector<bool>& wanted, const std::vector<int64_t>& found) {
    std::vector<bool> seen(wanted.size());
    for (int64_t const row : found) seen[static_cast<size_t>(row)] = true;
    EXPECT_EQ(static_cast<size_t>(std::count(wanted.begin(), wanted.end(), true)), found.size());
    EXPECT_TRUE(seen == wanted);
  }

  Context context_;
};
ON_EVERY_DEVICE(ResidualPositions);

TEST_P(ResidualPositions, NameTheRows) {
  bool const on_gpu = device() == GPUJOIN_DEVICE_CUDA;
  for (bool const has_nulls : {false, true}) {
    SCOPED_TRACE(has_nulls);
    Side const left = random_side(3, has_nulls);
    Side const right = random_side(4, has_nulls);
    std::vector<uint64_t> const wanted = matches(left, right);
    std::vector<bool> left_matched(left.keys.size());
    std::vector<bool> right_unmatched(right.keys.size(), true);
    for (uint64_t const pair : wanted) {
      left_matched[pair >> 32] = true;
      right_unmatched[pair & 0xffffffff] = false;
    }
    Table const left_table = left.table();
    Table const right_table = right.table();
    Relation const of_left = make_relation(context_, left_table);
    Relation const of_right = make_relation(context_, right_table);
    auto const less = of_values(GPUJOIN_OPERATOR_LESS);
    std::vector<gpujoin_algorithm> algorithms = {GPUJOIN_ALGORITHM_AUTOMATIC};
    if (on_gpu) {
      algorithms.insert(algorithms.end(), {GPUJOIN_ALGORITHM_PHJ_GFUR, GPUJOIN_ALGORITHM_PHJ_UM,
                                           GPUJOIN_ALGORITHM_SMJ_UM, GPUJOIN_ALGORITHM_NOP});
    }
    for (gpujoin_algorithm const algorithm : algorithms) {
      SCOPED_TRACE(algorithm);
      Result result;
      ASSERT_OK(join(GPUJOIN_JOIN_INNER, of_left, of_right, less, algorithm, &result));
      EXPECT_TRUE(pairs_of(result) == wanted);
      ASSERT_OK(join(GPUJOIN_JOIN_LEFT_SEMI, of_left, of_right, less, algorithm, &result));
      expect_rows_alone(left_matched, numbers(result, GPUJOIN_FETCH_LEFT_INDEX));
      ASSERT_OK(join(GPUJOIN_JOIN_RIGHT_ANTI, of_left, of_right, less, algorithm, &result));
      expect_rows_alone(right_unmatched, numbers(result, GPUJOIN_FETCH_RIGHT_INDEX));
      for (bool const outer_left : {true, false}) {
        SCOPED_TRACE(outer_left);
        gpujoin_join_kind const kind = outer_left ? GPUJOIN_JOIN_LEFT : GPUJOIN_JOIN_RIGHT;
        ASSERT_OK(join(kind, of_left, of_right, less, algorithm, &result));
        auto const lefts = numbers(result, GPUJOIN_FETCH_LEFT_INDEX);
        auto const rights = numbers(result, GPUJOIN_FETCH_RIGHT_INDEX);
        std::vector<uint64_t> pairs;
        std::vector<int64_t> alone;
        for (size_t i = 0; i < lefts.size(); ++i) {
          if ((outer_left ? rights : lefts)[i] == GPUJOIN_NO_ROW_INT64) {
            alone.push_back((outer_left ? lefts : rights)[i]);
          } else {
            pairs.push_back(static_cast<uint64_t>(lefts[i]) << 32 |
                            static_cast<uint64_t>(rights[i]));
          }
        }
        std::sort(pairs.begin(), pairs.end());
        EXPECT_TRUE(pairs == wanted);
        std::vector<bool> left_unmatched = left_matched;
        left_unmatched.flip();
        expect_rows_alone(outer_left ? left_unmatched : right_unmatched, alone);
      }
    }
  }
}

TEST_P(ResidualPositions, ErrorsNameTheRows) {
  Side const left = random_side(5, false);
  Side right = random_side(6, true);
  size_t zero = 0;
  for (auto& value : right.values) {
    if (value == 0) value = 1;
  }
  while (!right.keys[zero] || left.rows_of_key[static_cast<size_t>(*right.keys[zero])].empty() ||
         zero < right.keys.size() / 2) {
    ++zero;
  }
  right.values[zero] = 0;
  Table const left_table = left.table();
  Table const right_table = right.table();
  Relation const of_left = make_relation(context_, left_table);
  Relation const of_right = make_relation(context_, right_table);
  // left.v % right.v < right.v
  std::vector<gpujoin_node> nodes = of_values(GPUJOIN_OPERATOR_MODULO);
  nodes.push_back(nodes[1]);
  nodes.push_back(nodes[2]);
  nodes.back().operation = GPUJOIN_OPERATOR_LESS;
  Result result;
  Answer const answer =
      join(GPUJOIN_JOIN_INNER, of_left, of_right, nodes, GPUJOIN_ALGORITHM_AUTOMATIC, &result);
  EXPECT_NAMES(answer, GPUJOIN_ERROR_EVALUATION, ("right row " + std::to_string(zero)).c_str());
}

}  // namespace
