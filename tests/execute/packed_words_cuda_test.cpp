// packed_words_cuda_test.cpp: joins whose narrow payloads travel side by side, of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "src/execute/execute.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

using columns::JoinKind;
using Widths = std::vector<int32_t>;

constexpr size_t kLeftRows = 20000;
constexpr size_t kRightRows = 30000;

// A key, then payloads of such widths. Every other one has NULLs, where there are any.
HostRelation relation_of(const RelationShape& shape, const Widths& widths, double nulls,
                         uint64_t seed) {
  HostRelation relation = random_relation(shape, seed);
  std::vector<HostColumn> const payloads = relation.columns;
  relation.columns.resize(1);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < widths.size(); ++i) {
    auto const has_width = [&](const HostColumn& each) { return each.width == widths[i]; };
    HostColumn column = *std::find_if(payloads.begin() + 1, payloads.end(), has_width);
    for (unsigned char& byte : column.data) byte = static_cast<unsigned char>(random());
    if (i % 2 == 1) set_validity(&column, shape.rows, nulls, 5, random);
    relation.columns.push_back(std::move(column));
  }
  return relation;
}

class PackedWords : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu_ = open_queue(GPUJOIN_DEVICE_CUDA);
    if (gpu_ == nullptr) GTEST_SKIP() << "no CUDA device";
    cpu_ = open_queue(GPUJOIN_DEVICE_CPU);
  }

  static std::vector<Row> answer(base::Queue& queue, const HostRelation& left,
                                 const HostRelation& right, const columns::JoinSpec& spec,
                                 bool on_gpu) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    if (on_gpu) options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
    auto const join = execute::make_plan(queue, register_relation(queue, left, on_gpu),
                                         register_relation(queue, right, on_gpu), spec, options);
    return rows_of(queue, *execute::execute(queue, join));
  }

  OwnQueue gpu_;
  OwnQueue cpu_;
};

// Every payload that the kind puts out.
columns::JoinSpec spec_of_kind(JoinKind kind, const Widths& left, const Widths& right, bool pairs) {
  columns::JoinSpec spec;
  spec.kind = kind;
  spec.pairs = pairs;
  spec.materialize = true;
  auto const put_out = [&](const Widths& widths, bool is_left) {
    std::vector<int32_t> numbers;
    bool const is_none = rows_of(kind, is_left) == columns::RowsOfSide::kNone;
    if (is_none || comes_alone(rows_of(kind, !is_left))) return numbers;
    for (size_t i = 0; i <= widths.size(); ++i) numbers.push_back(static_cast<int32_t>(i));
    return numbers;
  };
  spec.left_columns = put_out(left, true);
  spec.right_columns = put_out(right, false);
  return spec;
}

const std::vector<Widths>& all_widths() {
  static const std::vector<Widths> widths = {
      {1, 1, 1}, {2, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 1, 8, 2, 16, 1, 2}, {2, 2, 2, 2}, Widths(40, 1)};
  return widths;
}

// Left keys come once, and the executor of the CPU packs nothing.
TEST_F(PackedWords, ComeOutOfJoinsOfEveryKind) {
  for (int32_t number = 1; number <= static_cast<int32_t>(columns::kLastJoinKind); ++number) {
    auto const kind = static_cast<JoinKind>(number);
    if (kind == JoinKind::kCross || kind == JoinKind::kLeftSingle) continue;
    for (size_t i = 0; i < all_widths().size(); ++i) {
      Widths const& left_widths = all_widths()[i];
      Widths const& right_widths = all_widths()[(i + 1) % all_widths().size()];
      for (double const nulls : {0.0, 0.2}) {
        SCOPED_TRACE(std::string(columns::to_text(kind)) + ", widths " + std::to_string(i) +
                     ", NULLs " + std::to_string(nulls));
        HostRelation const left =
            relation_of({kLeftRows, 4, kLeftRows, 1, 0.02, 0, 3, true}, left_widths, nulls, 1);
        HostRelation const right =
            relation_of({kRightRows, 4, kLeftRows * 5 / 4, 1, 0.05, 0, 2}, right_widths, nulls, 2);
        columns::JoinSpec const spec = spec_of_kind(kind, left_widths, right_widths, i % 2 == 0);
        ASSERT_EQ(answer(*gpu_, left, right, spec, true), answer(*cpu_, left, right, spec, false));
      }
    }
  }
}

TEST_F(PackedWords, ComeOutAsOftenAsTheirRowsMatch) {
  for (size_t i = 0; i < all_widths().size(); ++i) {
    SCOPED_TRACE(i);
    Widths const& left_widths = all_widths()[i];
    Widths const& right_widths = all_widths()[(i + 2) % all_widths().size()];
    for (uint64_t const distinct : {uint64_t{40}, uint64_t{3000}}) {
      HostRelation const left = relation_of({3000, 8, distinct, 7, 0, 0, 0}, left_widths, 0, 3);
      HostRelation const right = relation_of({5000, 8, distinct, 7, 0, 0, 0}, right_widths, 0, 4);
      columns::JoinSpec const spec =
          spec_of_kind(JoinKind::kInner, left_widths, right_widths, i % 2 == 1);
      ASSERT_EQ(answer(*gpu_, left, right, spec, true), reference_join(left, right, spec));
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
