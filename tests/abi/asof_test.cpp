// asof_test.cpp: ASOF joins through the C ABI: what is refused and how it is named; sides large
// enough to be sorted in parts, in any order, held against a map of the right rows.
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

class AsofArguments : public testing::Test {
 protected:
  Context context = make_context(GPUJOIN_DEVICE_CPU);
  Table table = {
      Column("t", GPUJOIN_TYPE_INT64, std::vector<int64_t>{1, 2, 3}),
      Column("f", GPUJOIN_TYPE_FLOAT64, std::vector<double>{1, 2, 3}),
      Column("u", GPUJOIN_TYPE_BYTES16, size_t{16}),
      Column("s", GPUJOIN_TYPE_TIMESTAMP_S, std::vector<int64_t>{1, 2, 3}),
  };
  Relation relation;
  gpujoin_asof asof = GPUJOIN_ASOF_INIT;

  void SetUp() override {
    for (int row = 0; row < 3; ++row) table[2].append(true, "0123456789abcdef");
    relation = make_relation(context, table);
    asof.direction = GPUJOIN_DIRECTION_BACKWARD;
  }
  template <typename Change>
  Answer with(Change change, const gpujoin_plan_options* options = nullptr) {
    Spec lists;
    lists.left_keys.clear();
    lists.right_keys.clear();
    gpujoin_join_spec spec = lists.get();
    gpujoin_asof changed = asof;
    spec.asof = &changed;
    change(spec, changed);
    return try_plan(context, relation, relation, &spec, options);
  }
};

TEST_F(AsofArguments, DirectionsAndFlags) {
  EXPECT_OK(with([](auto&, auto&) {}));
  for (int32_t const direction : {0, -1, 4, INT32_MAX}) {
    EXPECT_NAMES(with([&](auto&, auto& a) { a.direction = direction; }), kInvalid,
                 "spec.asof.direction");
  }
  EXPECT_NAMES(with([](auto&, auto& a) { a.flags = 4; }), kInvalid, "spec.asof.flags");
  EXPECT_NAMES(with([](auto&, auto& a) { a.flags = -1; }), kInvalid, "spec.asof.flags");
  EXPECT_NAMES(with([](auto&, auto& a) { a.reserved = 1; }), kInvalid, "spec.asof.reserved");
  EXPECT_NAMES(with([](auto&, auto& a) { a.struct_size = 8; }), GPUJOIN_ERROR_ABI_MISMATCH,
               "spec.asof");
}

TEST_F(AsofArguments, ColumnsThatHaveAnOrder) {
  EXPECT_NAMES(with([](auto&, auto& a) { a.left_column = 7; }), kInvalid,
               "spec.asof.left_column is 7 and the relation has 4 columns");
  EXPECT_NAMES(with([](auto&, auto& a) { a.right_column = -1; }), kInvalid,
               "spec.asof.right_column");
  auto const columns = [&](int32_t left, int32_t right) {
    return with([=](auto&, auto& a) {
      a.left_column = left;
      a.right_column = right;
    });
  };
  EXPECT_OK(columns(1, 1));
  EXPECT_OK(columns(3, 3));
  EXPECT_NAMES(columns(2, 2), GPUJOIN_ERROR_TYPE, "have no order");
  EXPECT_NAMES(columns(0, 1), GPUJOIN_ERROR_TYPE, "have no order");
  EXPECT_NAMES(columns(0, 3), GPUJOIN_ERROR_TYPE, "spec.asof.right_column: column 3 \"s\"");
}

TEST_F(AsofArguments, Tolerance) {
  auto const tolerance = [&](int32_t column, int32_t flags, int64_t whole, double real) {
    return with([=](auto&, auto& a) {
      a.left_column = a.right_column = column;
      a.flags = flags;
      a.tolerance = whole;
      a.tolerance_float = real;
    });
  };
  constexpr int32_t kHas = GPUJOIN_ASOF_TOLERANCE;
  EXPECT_OK(tolerance(0, kHas, 5, 0));
  EXPECT_OK(tolerance(0, kHas, 0, 0));
  EXPECT_OK(tolerance(1, kHas, 0, 0.5));
  EXPECT_OK(tolerance(1, kHas, 0, std::numeric_limits<double>::infinity()));
  EXPECT_NAMES(tolerance(0, 0, 5, 0), kInvalid, "spec.asof.tolerance is set");
  EXPECT_NAMES(tolerance(1, 0, 0, 5), kInvalid, "spec.asof.tolerance_float is set");
  EXPECT_NAMES(tolerance(0, kHas, 0, 5), kInvalid, "spec.asof.tolerance_float is set");
  EXPECT_NAMES(tolerance(1, kHas, 5, 0), kInvalid, "spec.asof.tolerance is set");
  EXPECT_NAMES(tolerance(0, kHas, -1, 0), kInvalid, "spec.asof.tolerance is -1");
  EXPECT_NAMES(tolerance(1, kHas, 0, -0.5), kInvalid, "spec.asof.tolerance_float");
  EXPECT_NAMES(tolerance(1, kHas, 0, std::nan("")), kInvalid, "spec.asof.tolerance_float");
}

TEST_F(AsofArguments, KindsAndCompany) {
  for (gpujoin_join_kind const kind :
       {GPUJOIN_JOIN_LEFT_MARK, GPUJOIN_JOIN_RIGHT_MARK, GPUJOIN_JOIN_LEFT_NOT_IN,
        GPUJOIN_JOIN_RIGHT_NOT_IN, GPUJOIN_JOIN_RIGHT_SINGLE, GPUJOIN_JOIN_CROSS}) {
    EXPECT_NAMES(with([&](auto& s, auto&) { s.kind = kind; }), GPUJOIN_ERROR_UNSUPPORTED,
                 "spec.asof");
  }
  gpujoin_condition const condition = GPUJOIN_CONDITION_INIT;
  EXPECT_NAMES(with([&](auto& s, auto&) { s.residual = &condition; }), GPUJOIN_ERROR_UNSUPPORTED,
               "spec.residual");
  gpujoin_aggregate const aggregate = GPUJOIN_AGGREGATE_INIT;
  EXPECT_NAMES(with([&](auto& s, auto&) {
                 s.aggregates = &aggregate;
                 s.aggregate_count = 1;
               }),
               GPUJOIN_ERROR_UNSUPPORTED, "spec.aggregates");
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.match = GPUJOIN_MATCH_GLOBAL_TABLE;
  EXPECT_NAMES(with([](auto&, auto&) {}, &options), GPUJOIN_ERROR_ILLEGAL_PLAN, "ASOF");
  EXPECT_NAMES(with([](auto& s, auto&) { s.key_count = -1; }), kInvalid, "spec.key_count");
}

// Sides of many rows, on each device.
class AsofRows : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, AsofRows,
                         testing::Values(GPUJOIN_DEVICE_CPU, GPUJOIN_DEVICE_CUDA), device_name);

struct Rows {
  std::vector<std::optional<int64_t>> places;
  std::vector<std::optional<int64_t>> keys;
};
enum class Shape { kSorted, kAnyOrder, kSortedByPlace };

// spread: of keys. Wide ones do not fit 8 bytes together with a place.
Rows drawn(size_t rows, int64_t places, int64_t keys, bool spread, Shape shape, bool nulls,
           uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows made;
  for (size_t i = 0; i < rows; ++i) {
    made.places.emplace_back(static_cast<int64_t>(random() % static_cast<uint64_t>(places)) -
                             places / 2);
    auto key = static_cast<int64_t>(random() % static_cast<uint64_t>(keys));
    // Half of the rows have one key: its partition is cut again.
    if (random() % 2 == 0) key = 0;
    made.keys.emplace_back(
        spread ? static_cast<int64_t>(static_cast<uint64_t>(key + 1) * 0x9e3779b97f4a7c15) : key);
  }
  if (shape != Shape::kAnyOrder) std::sort(made.places.begin(), made.places.end());
  if (shape == Shape::kSorted) std::sort(made.keys.begin(), made.keys.end());
  if (shape == Shape::kSorted && keys > 1) {
    for (size_t i = 0; i < rows;) {
      size_t end = i;
      while (end < rows && made.keys[end] == made.keys[i]) ++end;
      std::shuffle(made.places.begin() + static_cast<ptrdiff_t>(i),
                   made.places.begin() + static_cast<ptrdiff_t>(end), random);
      std::sort(made.places.begin() + static_cast<ptrdiff_t>(i),
                made.places.begin() + static_cast<ptrdiff_t>(end));
      i = end;
    }
  }
  for (size_t i = 0; nulls && i < rows; i += 7) (i % 2 == 0 ? made.places : made.keys)[i].reset();
  return made;
}

// Row numbers by key and place; the last one of equals and the first.
using Places = std::map<int64_t, std::map<int64_t, std::pair<uint32_t, uint32_t>>>;

std::optional<uint32_t> match_of(const Places& right, int64_t key, int64_t place,
                                 const gpujoin_asof& asof) {
  auto const found = right.find(key);
  if (found == right.end()) return std::nullopt;
  auto const& of_key = found->second;
  bool const strict = (asof.flags & GPUJOIN_ASOF_STRICT) != 0;
  auto before = strict ? of_key.lower_bound(place) : of_key.upper_bound(place);
  auto after = strict ? of_key.upper_bound(place) : of_key.lower_bound(place);
  auto const is_near = [&](uint64_t distance) {
    return (asof.flags & GPUJOIN_ASOF_TOLERANCE) == 0 ||
           distance <= static_cast<uint64_t>(asof.tolerance);
  };
  auto const distance = [](int64_t low, int64_t high) {
    return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  };
  std::optional<uint32_t> low;
  std::optional<uint32_t> high;
  uint64_t to_low = 0;
  uint64_t to_high = 0;
  if (before != of_key.begin() && asof.direction != GPUJOIN_DIRECTION_FORWARD) {
    --before;
    to_low = distance(before->first, place);
    if (is_near(to_low)) low = before->second.first;
  }
  if (after != of_key.end() && asof.direction != GPUJOIN_DIRECTION_BACKWARD) {
    to_high = distance(place, after->first);
    if (is_near(to_high)) high = after->second.second;
  }
  if (low && high) return to_high < to_low ? high : low;
  return low ? low : high;
}

// Directions and flags.
using Rules = std::vector<std::pair<int32_t, int32_t>>;
Rules all_rules() {
  Rules rules;
  for (int32_t direction = 1; direction <= 3; ++direction) {
    for (int32_t flags = 0; flags < 4; ++flags) rules.emplace_back(direction, flags);
  }
  return rules;
}

void expect_matches(const Context& context, const Rows& left, const Rows& right, bool has_keys,
                    const Rules& rules = all_rules()) {
  auto const columns = [](const Rows& rows) {
    return Table{Column("t", GPUJOIN_TYPE_INT64, rows.places),
                 Column("k", GPUJOIN_TYPE_INT64, rows.keys)};
  };
  Table const left_table = columns(left);
  Table const right_table = columns(right);
  Relation const left_relation = make_relation(context, left_table);
  Relation const right_relation = make_relation(context, right_table);
  Places places;
  for (uint32_t row = 0; row < right.places.size(); ++row) {
    if (!right.places[row] || (has_keys && !right.keys[row])) continue;
    auto const [at, is_new] =
        places[has_keys ? *right.keys[row] : 0].try_emplace(*right.places[row], row, row);
    at->second.first = row;
  }
  for (auto const& [direction, flags] : rules) {
    SCOPED_TRACE("direction " + std::to_string(direction) + ", flags " + std::to_string(flags));
    gpujoin_asof asof = GPUJOIN_ASOF_INIT;
    asof.direction = direction;
    asof.flags = flags;
    asof.tolerance = (flags & GPUJOIN_ASOF_TOLERANCE) != 0 ? 40 : 0;
    std::vector<std::tuple<int64_t, int64_t>> expected;
    for (uint32_t row = 0; row < left.places.size(); ++row) {
      if (!left.places[row] || (has_keys && !left.keys[row])) continue;
      auto const match = match_of(places, has_keys ? *left.keys[row] : 0, *left.places[row], asof);
      if (match) expected.emplace_back(row, *match);
    }
    Spec lists;
    lists.left_keys.assign(has_keys ? 1 : 0, 1);
    lists.right_keys.assign(has_keys ? 1 : 0, 1);
    gpujoin_join_spec spec = lists.get();
    spec.asof = &asof;
    gpujoin_result* result = nullptr;
    ASSERT_OK(call(gpujoin_join, context.get(), left_relation.get(), right_relation.get(), &spec,
                   nullptr, &result));
    EXPECT_EQ(pairs_of(Result(result)), expected);
  }
}

TEST_P(AsofRows, WithoutKeys) {
  Context const context = make_context(options());
  uint64_t seed = 0;
  for (Shape const shape : {Shape::kSorted, Shape::kAnyOrder}) {
    for (bool const nulls : {false, true}) {
      for (int64_t const places : {int64_t{1}, int64_t{500}, int64_t{1} << 20, INT64_MAX}) {
        SCOPED_TRACE(seed);
        Rows const left = drawn(5000, places, 1, false, shape, nulls, ++seed);
        Rows const right = drawn(140000, places, 1, false, shape, nulls, ++seed);
        expect_matches(context, left, right, false);
        expect_matches(context, right, left, false);
      }
    }
  }
}

TEST_P(AsofRows, ByKeys) {
  Context const context = make_context(options());
  uint64_t seed = 100;
  for (Shape const shape : {Shape::kSorted, Shape::kAnyOrder, Shape::kSortedByPlace}) {
    for (bool const spread : {false, true}) {
      for (int64_t const places : {int64_t{3}, int64_t{1} << 20, int64_t{1} << 62}) {
        SCOPED_TRACE(seed);
        bool const nulls = seed % 4 == 0;
        Rows const left = drawn(30000, places, 700, spread, shape, nulls, ++seed);
        Rows const right = drawn(90000, places, 700, spread, shape, nulls, ++seed);
        expect_matches(context, left, right, true);
      }
    }
  }
}

// So many, also of those without a NULL, that a GPU sorts by as many upper bits as tell them apart.
TEST_P(AsofRows, MillionsInAnyOrder) {
  Context const context = make_context(options());
  constexpr size_t kRows = 2500077;
  constexpr int32_t kBoth = GPUJOIN_ASOF_STRICT | GPUJOIN_ASOF_TOLERANCE;
  {
    SCOPED_TRACE("without keys");
    Rows const left = drawn(kRows, int64_t{1} << 62, 1, false, Shape::kAnyOrder, false, 1);
    Rows right = drawn(kRows + 1000, int64_t{1} << 62, 1, false, Shape::kAnyOrder, true, 2);
    // Equal places, of which the last row counts, or the first.
    for (size_t i = 0; i < kRows; i += 5) right.places[i] = left.places[i / 25];
    expect_matches(context, left, right, false,
                   {{GPUJOIN_DIRECTION_NEAREST, 0}, {GPUJOIN_DIRECTION_BACKWARD, kBoth}});
  }
  for (bool const spread : {false, true}) {
    SCOPED_TRACE(spread ? "keys of 16 bytes" : "keys of 8 bytes");
    Rows const left = drawn(kRows, int64_t{1} << 40, 700, spread, Shape::kAnyOrder, true, 3);
    Rows const right = drawn(kRows, int64_t{1} << 40, 700, spread, Shape::kAnyOrder, false, 4);
    expect_matches(context, left, right, true, {{GPUJOIN_DIRECTION_FORWARD, 0}});
  }
}

TEST_P(AsofRows, EmptySidesAndOneRow) {
  Context const context = make_context(options());
  Rows const none;
  Rows const one = {{7}, {1}};
  Rows const few = {{7, 7, 7}, {1, 1, 1}};
  for (Rows const* left : {&none, &one, &few}) {
    for (Rows const* right : {&none, &one, &few}) {
      expect_matches(context, *left, *right, false);
      expect_matches(context, *left, *right, true);
    }
  }
}

TEST_P(AsofRows, MemoryLimitLeavesNothingInUse) {
  gpujoin_context_options given = options();
  given.memory_limit_bytes = 1 << 20;
  Context const context = make_context(given);
  Rows const rows = drawn(200000, 1000, 5, false, Shape::kAnyOrder, false, 3);
  Table const table = {Column("t", GPUJOIN_TYPE_INT64, rows.places),
                       Column("k", GPUJOIN_TYPE_INT64, rows.keys)};
  Relation const relation = make_relation(context, table);
  gpujoin_asof asof = GPUJOIN_ASOF_INIT;
  asof.direction = GPUJOIN_DIRECTION_NEAREST;
  gpujoin_join_spec spec = Spec().get();
  int32_t const key = 1;
  spec.left_keys = spec.right_keys = &key;
  spec.asof = &asof;
  auto const used = [&] {
    EXPECT_OK(call(gpujoin_context_trim, context.get()));
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
    return info.memory_used_bytes;
  };
  // What a queue keeps for the next call is there after the first one.
  Rows const one = drawn(1, 1, 1, false, Shape::kSorted, false, 1);
  Table const small = {Column("t", GPUJOIN_TYPE_INT64, one.places),
                       Column("k", GPUJOIN_TYPE_INT64, one.keys)};
  Relation const few = make_relation(context, small);
  gpujoin_result* result = nullptr;
  ASSERT_OK(call(gpujoin_join, context.get(), few.get(), few.get(), &spec, nullptr, &result));
  gpujoin_result_destroy(result);
  uint64_t const before = used();
  // The CPU would join what the device has no room for.
  gpujoin_plan_options on_device = GPUJOIN_PLAN_OPTIONS_INIT;
  on_device.device = GetParam();
  EXPECT_STATUS(
      call(gpujoin_join, context.get(), relation.get(), relation.get(), &spec, &on_device, &result),
      GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_EQ(used(), before);
}

TEST_P(AsofRows, StatisticsSayHowSidesCameInOrder) {
  Context const context = make_context(options());
  Rows const sorted = drawn(1000, 500, 1, false, Shape::kSorted, false, 1);
  Rows const any = drawn(1000, 500, 1, false, Shape::kAnyOrder, false, 2);
  Table const left_table = {Column("t", GPUJOIN_TYPE_INT64, sorted.places)};
  Table const right_table = {Column("t", GPUJOIN_TYPE_INT64, any.places)};
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  gpujoin_asof asof = GPUJOIN_ASOF_INIT;
  asof.direction = GPUJOIN_DIRECTION_BACKWARD;
  Spec lists;
  lists.left_keys.clear();
  lists.right_keys.clear();
  gpujoin_join_spec spec = lists.get();
  spec.asof = &asof;
  gpujoin_result* made = nullptr;
  ASSERT_OK(call(gpujoin_join, context.get(), left.get(), right.get(), &spec, nullptr, &made));
  Result const result(made);
  gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_stage, result.get(), 0, &stage));
  EXPECT_STREQ(stage.technique, "asof: left as it lies, right sorted");
}

}  // namespace
