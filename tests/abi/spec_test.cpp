// spec_test.cpp: join specifications and plan options: what is refused, and how it is named.
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kType = GPUJOIN_ERROR_TYPE;

class SpecTest : public testing::Test {
 protected:
  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Table table = counting_table(10, 5);
  Relation relation = make_relation(context, table);
  Spec wish;

  Answer plan_of(const gpujoin_join_spec& spec, const gpujoin_plan_options* options = nullptr) {
    return try_plan(context, relation, relation, &spec, options);
  }
  template <typename Change>
  Answer with(Change change) {
    gpujoin_join_spec spec = wish.get();
    change(spec);
    return plan_of(spec);
  }
  template <typename Change>
  Answer with_options(Change change) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    change(options);
    return plan_of(wish.get(), &options);
  }
  // Joins the given key columns of two one-column relations.
  Answer join_keys(const Table& left, const Table& right) {
    Relation const left_relation = make_relation(context, left);
    Relation const right_relation = make_relation(context, right);
    gpujoin_join_spec const spec = wish.get();
    return try_plan(context, left_relation, right_relation, &spec);
  }
};

Table one_column(const char* name, gpujoin_type type, size_t width) {
  Table table;
  table.emplace_back(name, type, width);
  for (int row = 0; row < 3; ++row) table[0].append(true, "0123456789abcdef");
  return table;
}

}  // namespace

TEST_F(SpecTest, KindIsRequiredAndInner) {
  EXPECT_OK(with([](auto&) {}));
  EXPECT_NAMES(with([](auto& s) { s.kind = 0; }), kInvalid, "kind");
  EXPECT_NAMES(with([](auto& s) { s.kind = -1; }), kInvalid, "kind");
  EXPECT_NAMES(with([](auto& s) { s.kind = GPUJOIN_JOIN_CROSS + 1; }), GPUJOIN_ERROR_UNSUPPORTED,
               "kind");
}

TEST_F(SpecTest, OneToSixteenKeyColumns) {
  EXPECT_NAMES(with([](auto& s) { s.key_count = 0; }), kInvalid, "key_count");
  EXPECT_NAMES(with([](auto& s) { s.key_count = -1; }), kInvalid, "key_count");
  EXPECT_NAMES(with([](auto& s) { s.key_count = 17; }), GPUJOIN_ERROR_UNSUPPORTED, "key_count");
  EXPECT_NAMES(with([](auto& s) { s.key_count = INT32_MAX; }), GPUJOIN_ERROR_UNSUPPORTED,
               "key_count");
  EXPECT_NAMES(with([](auto& s) { s.left_keys = nullptr; }), kInvalid, "left_keys");
  EXPECT_NAMES(with([](auto& s) { s.right_keys = nullptr; }), kInvalid, "right_keys");
}

TEST_F(SpecTest, EachKeyColumnIsChecked) {
  for (size_t count = 2; count <= 5; ++count) {
    SCOPED_TRACE(count);
    wish.left_keys.assign(count, 0);
    wish.right_keys.assign(count, 0);
    EXPECT_OK(with([](auto&) {}));
    std::string const last = "[" + std::to_string(count - 1) + "]";
    wish.left_keys.back() = 2;  // there are two columns
    EXPECT_NAMES(with([](auto&) {}), kInvalid, ("left_keys" + last).c_str());
    wish.left_keys.back() = 0;
    wish.right_keys.back() = -1;
    EXPECT_NAMES(with([](auto&) {}), kInvalid, ("right_keys" + last).c_str());
    wish.right_keys.back() = 1;  // INT64, with INT32
    EXPECT_OK(with([](auto&) {}));
  }
}

TEST_F(SpecTest, APlanThatComparesOneKeyColumnIsRefusedForTwo) {
  wish.left_keys = wish.right_keys = {0, 1};
  EXPECT_NAMES(with_options([](auto& o) { o.gather = GPUJOIN_GATHER_TRANSFORMED; }),
               GPUJOIN_ERROR_ILLEGAL_PLAN, "gather");
  EXPECT_OK(with_options([](auto& o) { o.gather = GPUJOIN_GATHER_UNTRANSFORMED; }));
}

TEST_F(SpecTest, PositionsAreThoseOfTheRelation) {
  for (int32_t position : {-1, 2, INT32_MAX}) {
    int32_t const wrong[] = {position};
    EXPECT_NAMES(with([&](auto& s) { s.left_keys = wrong; }), kInvalid, "left_keys");
    EXPECT_NAMES(with([&](auto& s) { s.right_keys = wrong; }), kInvalid, "right_keys");
    EXPECT_NAMES(with([&](auto& s) {
                   s.left_columns = wrong;
                   s.left_column_count = 1;
                 }),
                 kInvalid, "left_columns[0]");
    EXPECT_NAMES(with([&](auto& s) {
                   s.right_columns = wrong;
                   s.right_column_count = 1;
                 }),
                 kInvalid, "right_columns[0]");
  }
  EXPECT_NAMES(with([](auto& s) { s.left_column_count = -1; }), kInvalid, "left_column_count");
  EXPECT_NAMES(with([](auto& s) { s.right_column_count = -1; }), kInvalid, "right_column_count");
  EXPECT_NAMES(with([](auto& s) {
                 s.right_columns = nullptr;
                 s.right_column_count = 1;
               }),
               kInvalid, "right_columns");
}

TEST_F(SpecTest, OutputIsAMask) {
  EXPECT_NAMES(with([](auto& s) { s.output = 4; }), kInvalid, "output");
  EXPECT_NAMES(with([](auto& s) { s.output = -1; }), kInvalid, "output");
  wish.left_columns = {1};
  EXPECT_NAMES(with([](auto& s) { s.output = GPUJOIN_OUTPUT_PAIRS; }), kInvalid, "output");
}

TEST_F(SpecTest, KeyTypesAreEqual) {
  wish = Spec{};
  Table const ints = one_column("int", GPUJOIN_TYPE_INT32, 4);
  Table const days = one_column("day", GPUJOIN_TYPE_DATE32, 4);
  Answer const answer = join_keys(ints, days);
  EXPECT_NAMES(answer, kType, "INT32");
  EXPECT_NAMES(answer, kType, "DATE32");
  EXPECT_OK(join_keys(days, days));
}

TEST_F(SpecTest, KeysAreOfEveryType) {
  std::vector<std::pair<gpujoin_type, int>> const types = {
      {GPUJOIN_TYPE_INT8, 1},         {GPUJOIN_TYPE_INT16, 2},
      {GPUJOIN_TYPE_INT32, 4},        {GPUJOIN_TYPE_INT64, 8},
      {GPUJOIN_TYPE_UINT8, 1},        {GPUJOIN_TYPE_UINT16, 2},
      {GPUJOIN_TYPE_UINT32, 4},       {GPUJOIN_TYPE_UINT64, 8},
      {GPUJOIN_TYPE_FLOAT16, 2},      {GPUJOIN_TYPE_FLOAT32, 4},
      {GPUJOIN_TYPE_FLOAT64, 8},      {GPUJOIN_TYPE_DATE32, 4},
      {GPUJOIN_TYPE_DATE64, 8},       {GPUJOIN_TYPE_TIMESTAMP_S, 8},
      {GPUJOIN_TYPE_TIMESTAMP_MS, 8}, {GPUJOIN_TYPE_TIMESTAMP_US, 8},
      {GPUJOIN_TYPE_TIMESTAMP_NS, 8}, {GPUJOIN_TYPE_TIME32, 4},
      {GPUJOIN_TYPE_TIME64, 8},       {GPUJOIN_TYPE_DURATION, 8},
      {GPUJOIN_TYPE_BYTES16, 16},
  };
  auto const is_integer = [](gpujoin_type type) {
    return type >= GPUJOIN_TYPE_INT8 && type <= GPUJOIN_TYPE_UINT64;
  };
  auto const is_float = [](gpujoin_type type) {
    return type == GPUJOIN_TYPE_FLOAT16 || type == GPUJOIN_TYPE_FLOAT32 ||
           type == GPUJOIN_TYPE_FLOAT64;
  };
  // Counts of days, milliseconds, seconds.
  auto const is_date = [](gpujoin_type type) {
    return type >= GPUJOIN_TYPE_DATE32 && type <= GPUJOIN_TYPE_TIMESTAMP_NS;
  };
  auto const is_time = [](gpujoin_type type) {
    return type == GPUJOIN_TYPE_TIME32 || type == GPUJOIN_TYPE_TIME64;
  };
  for (auto const& [left, left_width] : types) {
    for (auto const& [right, right_width] : types) {
      SCOPED_TRACE(std::to_string(left) + " and " + std::to_string(right));
      Answer const answer = join_keys(one_column("one", left, static_cast<size_t>(left_width)),
                                      one_column("other", right, static_cast<size_t>(right_width)));
      bool const compare = left == right || (is_integer(left) && is_integer(right)) ||
                           (is_float(left) && is_float(right)) ||
                           (is_date(left) && is_date(right)) || (is_time(left) && is_time(right));
      if (compare) {
        EXPECT_OK(answer);
      } else {
        EXPECT_NAMES(answer, kType, "left_keys[0]: column 0 \"one\"");
        EXPECT_NAMES(answer, kType, "right_keys[0]: column 0 \"other\"");
      }
    }
  }
}

// Each of them is two columns of 8 bytes, and 32 are more than any join compares.
TEST_F(SpecTest, SixteenWideKeysAreComparedAsCodes) {
  Table wide;
  Spec keys;
  keys.left_keys.clear();
  for (int32_t i = 0; i < 16; ++i) {
    wide.push_back(one_column("key", GPUJOIN_TYPE_BYTES16, 16)[0]);
    keys.left_keys.push_back(i);
  }
  keys.right_keys = keys.left_keys;
  Relation const of_wide = make_relation(context, wide);
  EXPECT_NE(join(context, of_wide, of_wide, keys), nullptr);
}

TEST_F(SpecTest, OptionsHaveRanges) {
  EXPECT_NAMES(with_options([](auto& o) { o.device = 3; }), kInvalid, "options.device");
  EXPECT_NAMES(with_options([](auto& o) { o.algorithm = 14; }), kInvalid, "options.algorithm");
  EXPECT_NAMES(with_options([](auto& o) { o.algorithm = -1; }), kInvalid, "options.algorithm");
  EXPECT_NAMES(with_options([](auto& o) { o.transform = 11; }), kInvalid, "options.transform");
  EXPECT_NAMES(with_options([](auto& o) { o.match = 10; }), kInvalid, "options.match");
  EXPECT_NAMES(with_options([](auto& o) { o.gather = 5; }), kInvalid, "options.gather");
  EXPECT_NAMES(with_options([](auto& o) { o.filter = 4; }), kInvalid, "options.filter");
  EXPECT_NAMES(with_options([](auto& o) { o.filter = -1; }), kInvalid, "options.filter");
  EXPECT_NAMES(with_options([](auto& o) { o.build_side = 3; }), kInvalid, "options.build_side");
  EXPECT_NAMES(with_options([](auto& o) { o.radix_bits = 17; }), kInvalid, "options.radix_bits");
  EXPECT_NAMES(with_options([](auto& o) { o.radix_bits = -1; }), kInvalid, "options.radix_bits");
}

TEST_F(SpecTest, ACpuContextRunsNoCudaPlan) {
  EXPECT_NAMES(with_options([](auto& o) { o.device = GPUJOIN_DEVICE_CUDA; }),
               GPUJOIN_ERROR_NO_DEVICE, "CUDA");
}

TEST_F(SpecTest, TechniquesThatDoNotFitAreAnIllegalPlan) {
  EXPECT_STATUS(with_options([](auto& o) {
                  o.device = GPUJOIN_DEVICE_CPU;
                  o.algorithm = GPUJOIN_ALGORITHM_SMJ_OM;
                }),
                GPUJOIN_ERROR_ILLEGAL_PLAN);
}

TEST_F(SpecTest, RelationsAreOfTheContext) {
  Context const other = make_context(GPUJOIN_DEVICE_CPU);
  Relation const foreign = make_relation(other, table);
  gpujoin_join_spec const spec = wish.get();
  gpujoin_plan* plan = nullptr;
  EXPECT_NAMES(call(gpujoin_plan_create, context.get(), relation.get(), foreign.get(), &spec,
                    nullptr, &plan),
               kInvalid, "right");
  EXPECT_NAMES(call(gpujoin_plan_create, context.get(), foreign.get(), relation.get(), &spec,
                    nullptr, &plan),
               kInvalid, "left");
}

TEST_F(SpecTest, ExplainAsksForRoomAndThenFillsIt) {
  Plan const plan = make_plan(context, relation, relation, wish);
  size_t length = 0;
  EXPECT_STATUS(call(gpujoin_plan_explain, plan.get(), nullptr, &length),
                GPUJOIN_ERROR_BUFFER_TOO_SMALL);
  ASSERT_GT(length, 1u);
  std::string text(length, '#');
  size_t one_less = length - 1;
  EXPECT_STATUS(call(gpujoin_plan_explain, plan.get(), text.data(), &one_less),
                GPUJOIN_ERROR_BUFFER_TOO_SMALL);
  EXPECT_EQ(one_less, length);
  EXPECT_EQ(text, std::string(length, '#'));
  size_t room = length;
  EXPECT_OK(call(gpujoin_plan_explain, plan.get(), text.data(), &room));
  EXPECT_EQ(room, length);
  EXPECT_EQ(text.find('\0'), length - 1);
  EXPECT_NAMES(call(gpujoin_plan_explain, plan.get(), nullptr, &length), kInvalid, "buffer");
  EXPECT_NAMES(call(gpujoin_plan_explain, plan.get(), text.data(), nullptr), kInvalid, "length");
}
