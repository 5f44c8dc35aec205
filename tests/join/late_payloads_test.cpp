// late_payloads_test.cpp: payloads of picked rows, copied before a join or fetched behind it: the
// answer is the same for every kind, whatever is put out beside them.
#include <gtest/gtest.h>

#include <set>

#include "src/columns/join_kind.hpp"
#include "src/execute/row_picker.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {
namespace {

using columns::JoinKind;

constexpr size_t kLeftRows = 3000;
constexpr size_t kRightRows = 5000;

// Rows of one side that are picked, by a bitmap or by numbers.
struct Picks {
  std::vector<uint8_t> bits;
  std::vector<uint32_t> numbers;
  bool by_bits = false;

  Picks(size_t rows, bool as_bits, uint64_t seed) : bits(rows / 8 + 1, 0), by_bits(as_bits) {
    std::mt19937_64 random(seed);
    for (uint32_t row = 0; row < rows; ++row) {
      if (random() % 3 != 0) continue;
      bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | 1U << (row % 8));
      numbers.push_back(row);
    }
  }
  std::shared_ptr<const columns::Relation> of(
      base::Queue& queue, std::shared_ptr<const columns::Relation> relation) const {
    columns::Selection selection;
    selection.of = std::move(relation);
    selection.is_bitmap = by_bits;
    selection.data = by_bits ? static_cast<const void*>(bits.data()) : numbers.data();
    selection.width = by_bits ? 0 : 4;
    selection.count = static_cast<int64_t>(numbers.size());
    return execute::select_rows(queue, std::move(selection));
  }
};

struct Case {
  gpujoin_device device;
  bool by_bits;
};

class LatePayloads : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    queue_ = open_queue(GetParam().device);
    if (queue_ == nullptr) GTEST_SKIP() << "no CUDA device can be used";
    bool const on_device = GetParam().device == GPUJOIN_DEVICE_CUDA;
    left_ = left_picks_.of(queue_, register_relation(queue_, left_rows_, on_device));
    right_ = right_picks_.of(queue_, register_relation(queue_, right_rows_, on_device));
  }

  // Random reads cost nothing, or more than anything else.
  void make_reads_cheap(bool cheap) {
    base::DeviceFacts& facts = queue_.context()->facts;
    facts.random_reads_per_second = facts.l2_random_reads_per_second = cheap ? 1e30 : 1;
    if (cheap) facts.launch_seconds = 0;
  }

  struct Answer {
    std::vector<Row> rows;
    std::string note;
  };
  Answer answer(const columns::JoinSpec& spec, bool late) {
    make_reads_cheap(late);
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.device = GetParam().device;
    auto const join = execute::make_plan(queue_, left_, right_, spec, options);
    Answer found{rows_of(queue_, *execute::execute(queue_, join)), join.picked->note};
    // A plan keeps what it was made of.
    EXPECT_EQ(rows_of(queue_, *execute::execute(queue_, join)), found.rows);
    return found;
  }

  columns::JoinSpec spec_of_kind(JoinKind kind, bool pairs) {
    columns::JoinSpec spec;
    spec.kind = kind;
    spec.pairs = pairs;
    spec.materialize = true;
    auto const none = columns::RowsOfSide::kNone;
    if (rows_of(kind, true) != none && !comes_alone(rows_of(kind, false))) {
      spec.left_columns = {5, 0, 2, 3, 4, 3};
    }
    if (rows_of(kind, false) != none && !comes_alone(rows_of(kind, true))) {
      spec.right_columns = {1, 4, 3, 5};
    }
    return spec;
  }

  // Left keys come once.
  HostRelation left_rows_ = random_relation({kLeftRows, 4, kLeftRows, 3, 0.02, 0.2, 5, true}, 1);
  HostRelation right_rows_ = random_relation({kRightRows, 4, kLeftRows, 3, 0.05, 0.2, 2}, 2);
  Picks left_picks_{kLeftRows, GetParam().by_bits, 3};
  Picks right_picks_{kRightRows, GetParam().by_bits, 4};
  std::shared_ptr<const columns::Relation> left_;
  std::shared_ptr<const columns::Relation> right_;
  OwnQueue queue_;
};

bool is_fetched(const std::string& note) { return note.find("more are fetched") != note.npos; }

TEST_P(LatePayloads, AreThoseOfTheRegisteredRows) {
  columns::JoinSpec spec = spec_of_kind(JoinKind::kInner, true);
  std::vector<Row> all = reference_join(left_rows_, right_rows_, spec);
  auto const picked = [](const Picks& picks, const std::string& row) {
    size_t const number = std::stoul(row);
    return (picks.bits[number / 8] >> (number % 8) & 1) != 0;
  };
  std::erase_if(all, [&](const Row& row) {
    return !picked(left_picks_, row[0]) || !picked(right_picks_, row[1]);
  });
  ASSERT_GT(all.size(), 100U);
  for (bool const late : {true, false}) {
    Answer const found = answer(spec, late);
    EXPECT_EQ(found.rows, all);
    EXPECT_EQ(is_fetched(found.note), late) << found.note;
  }
  spec.pairs = false;
  for (Row& row : all) row.erase(row.begin(), row.begin() + 2);
  std::sort(all.begin(), all.end());
  Answer const found = answer(spec, true);
  EXPECT_EQ(found.rows, all);
  EXPECT_TRUE(is_fetched(found.note)) << found.note;
}

TEST_P(LatePayloads, AreTheSameForEveryKind) {
  std::set<JoinKind> fetched;
  for (int32_t number = 1; number <= static_cast<int32_t>(columns::kLastJoinKind); ++number) {
    auto const kind = static_cast<JoinKind>(number);
    // A left row has several matches.
    if (kind == JoinKind::kCross || kind == JoinKind::kLeftSingle) continue;
    for (bool const pairs : {false, true}) {
      for (auto const order : {columns::RowOrder::kNone, columns::RowOrder::kLeft}) {
        if (order != columns::RowOrder::kNone && comes_alone(kind)) continue;
        columns::JoinSpec spec = spec_of_kind(kind, pairs);
        spec.order = order;
        Answer const late = answer(spec, true);
        Answer const early = answer(spec, false);
        EXPECT_EQ(late.rows, early.rows) << columns::to_text(kind) << " pairs " << pairs;
        EXPECT_FALSE(is_fetched(early.note)) << columns::to_text(kind);
        if (is_fetched(late.note)) fetched.insert(kind);
      }
    }
  }
  EXPECT_GE(fetched.size(), 5U);
}

TEST_P(LatePayloads, AreTheSameOfNoRows) {
  // Of rows that were picked before.
  Picks const again(static_cast<size_t>(left_->rows), false, 5);
  left_ = again.of(queue_, left_);
  Picks none(0, GetParam().by_bits, 6);
  for (bool const of_left : {true, false}) {
    auto const whole = of_left ? left_ : right_;
    none.bits.assign(kRightRows / 8 + 1, 0);
    (of_left ? left_ : right_) = none.of(queue_, columns::as_registered(whole));
    for (bool const pairs : {false, true}) {
      columns::JoinSpec const spec = spec_of_kind(JoinKind::kFull, pairs);
      EXPECT_EQ(answer(spec, true).rows, answer(spec, false).rows);
      EXPECT_TRUE(answer(spec_of_kind(JoinKind::kInner, pairs), true).rows.empty());
    }
    (of_left ? left_ : right_) = whole;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, LatePayloads,
    testing::Values(Case{GPUJOIN_DEVICE_CPU, true}, Case{GPUJOIN_DEVICE_CPU, false},
                    Case{GPUJOIN_DEVICE_CUDA, true}, Case{GPUJOIN_DEVICE_CUDA, false}),
    [](auto const& of) {
      return std::string(of.param.device == GPUJOIN_DEVICE_CPU ? "Cpu" : "Cuda") +
             (of.param.by_bits ? "Bits" : "Numbers");
    });

}  // namespace
}  // namespace gpujoin::tests
