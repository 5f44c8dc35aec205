// select_test.cpp: relations of which some rows are read: what is refused, what comes out, how
// selections of selections count, and how long what they are made of is read.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
using Pairs = std::vector<std::tuple<int64_t, int64_t>>;

gpujoin_selection bits_of(const std::vector<uint8_t>& bits, int64_t first_bit = 0) {
  gpujoin_selection selection = GPUJOIN_SELECTION_INIT;
  selection.form = GPUJOIN_SELECTION_BITMAP;
  selection.data = bits.data();
  selection.first_bit = first_bit;
  return selection;
}

template <typename Number>
gpujoin_selection rows_of(const std::vector<Number>& rows) {
  gpujoin_selection selection = GPUJOIN_SELECTION_INIT;
  selection.form = GPUJOIN_SELECTION_ROWS;
  selection.data = rows.data();
  selection.count = static_cast<int64_t>(rows.size());
  selection.type = sizeof(Number) == 4 ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_INT64;
  return selection;
}

Answer select(const Relation& relation, const gpujoin_selection& selection, Relation* out) {
  gpujoin_relation* made = nullptr;
  Answer const answer = call(gpujoin_relation_select, relation.get(), &selection, &made);
  EXPECT_EQ(made == nullptr, answer.status != GPUJOIN_OK);
  out->reset(made);
  return answer;
}

Relation selected(const Relation& relation, const gpujoin_selection& selection) {
  Relation made;
  EXPECT_OK(select(relation, selection, &made));
  return made;
}

int64_t size_of(const Relation& relation) {
  int64_t rows = -1;
  EXPECT_OK(call(gpujoin_relation_get_size, relation.get(), &rows, nullptr));
  return rows;
}

class SelectTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context = make_context(device());
    relation = make_relation(context, table);
  }
  Context context;
  Table table = counting_table(10, 5);
  Relation relation;

  Answer refused(const gpujoin_selection& selection) {
    Relation made;
    return select(relation, selection, &made);
  }
};
ON_EVERY_DEVICE(SelectTest);

Spec pairs_and_columns() {
  Spec spec;
  spec.left_columns = {0, 1};
  spec.right_columns = {1};
  spec.output = GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS;
  return spec;
}

}  // namespace

TEST_P(SelectTest, NamesWhatItRefuses) {
  std::vector<uint8_t> const bits = {0xff, 0x03};
  std::vector<uint32_t> const rows = {0, 9};
  auto const with = [&](auto change, gpujoin_selection selection) {
    change(selection);
    return refused(selection);
  };
  using S = gpujoin_selection&;
  EXPECT_NAMES(with([](S s) { s.form = 0; }, bits_of(bits)), kInvalid, "selection.form");
  EXPECT_NAMES(with([](S s) { s.form = 3; }, bits_of(bits)), kInvalid, "selection.form");
  EXPECT_NAMES(with([](S s) { s.first_bit = -1; }, bits_of(bits)), kInvalid, "first_bit");
  EXPECT_NAMES(with([](S s) { s.first_bit = (int64_t{1} << 50) + 1; }, bits_of(bits)), kInvalid,
               "first_bit");
  EXPECT_NAMES(with([](S s) { s.count = 10; }, bits_of(bits)), kInvalid, "selection.count");
  EXPECT_NAMES(with([](S s) { s.type = 7; }, bits_of(bits)), kInvalid, "selection.type");
  EXPECT_NAMES(with([](S s) { s.data = nullptr; }, bits_of(bits)), kInvalid, "selection.data");
  EXPECT_NAMES(with([](S s) { s.memory = 9; }, bits_of(bits)), kInvalid, "selection.memory");
  EXPECT_NAMES(with([](S s) { s.reserved = 1; }, bits_of(bits)), kInvalid, "selection.reserved");
  EXPECT_NAMES(with([](S s) { s.type = GPUJOIN_TYPE_INT32; }, rows_of(rows)), kInvalid,
               "selection.type");
  EXPECT_NAMES(with([](S s) { s.count = -1; }, rows_of(rows)), kInvalid, "selection.count");
  EXPECT_NAMES(with([](S s) { s.first_bit = 1; }, rows_of(rows)), kInvalid, "first_bit");
  EXPECT_NAMES(with([](S s) { s.data = nullptr; }, rows_of(rows)), kInvalid, "selection.data");
  EXPECT_NAMES(with([](S s) { s.data = static_cast<const char*>(s.data) + 1; }, rows_of(rows)),
               kInvalid, "selection.data");
  EXPECT_STATUS(with([](S s) { s.count = int64_t{UINT32_MAX}; }, rows_of(rows)),
                GPUJOIN_ERROR_TOO_MANY_ROWS);
  EXPECT_STATUS(with([](S s) { s.struct_size = 8; }, bits_of(bits)), GPUJOIN_ERROR_ABI_MISMATCH);
  gpujoin_relation* made = nullptr;
  EXPECT_NAMES(call(gpujoin_relation_select, relation.get(),
                    static_cast<const gpujoin_selection*>(nullptr), &made),
               kInvalid, "selection");
  auto const selection = bits_of(bits);
  EXPECT_NAMES(call(gpujoin_relation_select, static_cast<const gpujoin_relation*>(nullptr),
                    &selection, &made),
               kInvalid, "relation");
  EXPECT_NAMES(call(gpujoin_relation_select, relation.get(), &selection,
                    static_cast<gpujoin_relation**>(nullptr)),
               kInvalid, "out");
}

TEST_P(SelectTest, NamesTheFirstRowThatIsNone) {
  EXPECT_NAMES(refused(rows_of(std::vector<uint32_t>{1, 10, 11})), kInvalid,
               "selection.data[1] is 10 and the relation has 10 rows");
  EXPECT_NAMES(refused(rows_of(std::vector<int64_t>{9, 0, -1})), kInvalid,
               "selection.data[2] is -1");
  EXPECT_NAMES(refused(rows_of(std::vector<uint32_t>{GPUJOIN_NO_ROW})), kInvalid, "4294967295");
  EXPECT_NAMES(refused(rows_of(std::vector<int64_t>{int64_t{1} << 32})), kInvalid, "is 4294967296");
}

TEST_P(SelectTest, CountsTheRowsPicked) {
  std::vector<uint8_t> const bits = {0xfb, 0xf0, 0xff};
  EXPECT_EQ(size_of(selected(relation, bits_of(bits))), 7);
  EXPECT_EQ(size_of(selected(relation, bits_of(bits, 12))), 10);
  EXPECT_EQ(size_of(selected(relation, rows_of(std::vector<int64_t>{3, 3, 0}))), 3);
  EXPECT_EQ(size_of(selected(relation, rows_of(std::vector<uint32_t>{}))), 0);
}

TEST_P(SelectTest, PutsOutNumbersOfTheRelationAsRegistered) {
  // Keys are 0 1 2 3 4 0 1 2 3 4.
  std::vector<uint8_t> const odd = {0xaa, 0x02};
  std::vector<int64_t> const some = {9, 1, 1};
  Relation const left = selected(relation, bits_of(odd));
  Relation const right = selected(relation, rows_of(some));
  Result const result = join(context, left, right, pairs_and_columns());
  EXPECT_EQ(pairs_of(result), (Pairs{{1, 1}, {1, 1}, {9, 9}}));
  auto keys = column_of<int32_t>(result, 0);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::optional<int32_t>>{1, 1, 4}));
}

TEST_P(SelectTest, PicksOfWhatWasPicked) {
  std::vector<uint8_t> const odd = {0xaa, 0x02};         // 1 3 5 7 9
  std::vector<uint32_t> const backwards = {4, 4, 2, 0};  // 9 9 5 1
  std::vector<uint8_t> const not_first = {0x0e};         // 9 5 1
  Relation last;
  {
    Relation const first = selected(relation, bits_of(odd));
    Relation const second = selected(first, rows_of(backwards));
    EXPECT_NAMES(select(second, rows_of(std::vector<uint32_t>{4}), &last), kInvalid, "has 4 rows");
    last = selected(second, bits_of(not_first));
  }
  Result const result = join(context, last, relation, pairs_and_columns());
  EXPECT_EQ(pairs_of(result), (Pairs{{1, 1}, {1, 6}, {5, 0}, {5, 5}, {9, 4}, {9, 9}}));
}

// A relation handle is gone, and so is the first one; the columns and the bits are not.
TEST_P(SelectTest, PlansReadTheSelectionAsLongAsTheyLive) {
  std::vector<uint8_t> const bits = {0x03, 0};
  Relation left = selected(relation, bits_of(bits));
  Plan const plan = make_plan(context, left, relation, pairs_and_columns());
  left = nullptr;
  relation = nullptr;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pairs_of(execute(plan)), (Pairs{{0, 0}, {0, 5}, {1, 1}, {1, 6}}));
  }
}

TEST_P(SelectTest, ExplainSaysWhatIsDone) {
  std::vector<uint8_t> const most = {0xff, 0x01};
  std::vector<uint8_t> const few = {0x01, 0x01};
  auto const explain = [&](const Relation& left, Spec spec) {
    Plan const plan = make_plan(context, left, relation, spec);
    std::string text(1 << 16, '\0');
    size_t length = text.size();
    EXPECT_OK(call(gpujoin_plan_explain, plan.get(), text.data(), &length));
    return text;
  };
  Spec spec = pairs_and_columns();
  Relation const nearly_all = selected(relation, bits_of(most));
  EXPECT_NE(explain(nearly_all, spec).find("9 of 10 rows are picked: keys of the others are taken"),
            std::string::npos);
  EXPECT_NE(explain(selected(relation, bits_of(few)), spec).find("2 of 10 rows are picked: what"),
            std::string::npos);
  // Rows that are not picked would come out without a match.
  spec.kind = GPUJOIN_JOIN_LEFT;
  EXPECT_NE(explain(nearly_all, spec).find("copied together"), std::string::npos);
}

TEST_P(SelectTest, SeveralMatchesNameTheRowAsRegistered) {
  std::vector<uint32_t> const rows = {7, 3};
  std::vector<uint32_t> const twice = {2, 2, 0};
  Relation const left = selected(relation, rows_of(rows));
  Relation const right = selected(relation, rows_of(twice));
  Spec spec = pairs_and_columns();
  spec.kind = GPUJOIN_JOIN_LEFT_SINGLE;
  gpujoin_join_spec const raw = spec.get();
  gpujoin_result* made = nullptr;
  EXPECT_NAMES(call(gpujoin_join, context.get(), left.get(), right.get(), &raw,
                    static_cast<const gpujoin_plan_options*>(nullptr), &made),
               GPUJOIN_ERROR_SEVERAL_MATCHES, "left row 7");
}

// Of many rows, against the rows themselves registered; bits from any bit on, in every density.
TEST_P(SelectTest, IsAJoinOfTheRowsPicked) {
  std::mt19937 random(7);
  Table const big = counting_table(20'000, 3'000);
  Relation const all = make_relation(context, big);
  for (int const percent : {0, 1, 10, 50, 97, 100}) {
    int64_t const first_bit = static_cast<int64_t>(random() % 70);
    std::vector<uint8_t> bits(20'100 / 8 + 10, 0xff);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < 20'000; ++row) {
      int64_t const bit = first_bit + row;
      bool const is_picked = static_cast<int>(random() % 100) < percent;
      if (is_picked) rows.push_back(row);
      auto& byte = bits[static_cast<size_t>(bit / 8)];
      if (!is_picked) byte = static_cast<uint8_t>(byte & ~(1u << (bit % 8)));
    }
    Relation const by_bits = selected(all, bits_of(bits, first_bit));
    std::shuffle(rows.begin(), rows.end(), random);
    Relation const by_rows = selected(all, rows_of(rows));
    std::vector<uint8_t> picked(20'000, 0);
    for (int64_t const row : rows) picked[static_cast<size_t>(row)] = 1;
    Pairs expected;
    for (int64_t left = 0; left < 20'000; ++left) {
      for (int64_t right = left % 3'000; right < 20'000; right += 3'000) {
        bool const both = picked[static_cast<size_t>(left)] && picked[static_cast<size_t>(right)];
        if (both) expected.emplace_back(left, right);
      }
    }
    EXPECT_EQ(pairs_of(join(context, by_bits, by_rows, pairs_and_columns())), expected);
    EXPECT_EQ(pairs_of(join(context, by_bits, by_bits, pairs_and_columns())), expected);
  }
}

TEST_P(SelectTest, TakesBitsThatChangedForNoReasonToCrash) {
  if (device() == GPUJOIN_DEVICE_CUDA) GTEST_SKIP() << "checked where rows are counted twice";
  std::vector<uint8_t> bits = {0x55, 0x01};
  Relation const left = selected(relation, bits_of(bits));
  bits = {0xff, 0x03};
  Spec const spec = pairs_and_columns();
  gpujoin_join_spec const raw = spec.get();
  gpujoin_result* made = nullptr;
  EXPECT_NAMES(call(gpujoin_join, context.get(), left.get(), relation.get(), &raw,
                    static_cast<const gpujoin_plan_options*>(nullptr), &made),
               kInvalid, "bitmap has changed");
}
