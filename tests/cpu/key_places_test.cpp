// key_places_test.cpp: build rows that are found by their keys' numbers, where they lie or moved
// there.
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "tests/cpu/expected_join.hpp"

namespace gpujoin::test {
namespace {

constexpr const char* kPlaced = "build rows placed";
constexpr const char* kListed = "build keys as bits";

// From `lowest` on, in any order, `step` numbers each.
Keys shuffled(size_t rows, uint64_t lowest, uint64_t seed, uint64_t step = 1) {
  Keys keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = lowest + i * step;
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(seed));
  return keys;
}

void expect_way(const TestTable& left, const TestTable& right, const std::string& way,
                const plan::JoinPlan& plan = cpu_plan()) {
  expect_right(left, right, plan);
  EXPECT_EQ(first_technique(left, right, plan).substr(0, way.size()), way);
}

// Rows of any width, with NULLs and without, in columns or in both.
TEST(KeyPlaces, HoldAllThatIsPutOut) {
  const std::vector<std::vector<int32_t>> payloads = {{1},          {2},
                                                      {4},          {8},
                                                      {16},         {1, 1},
                                                      {4, 4},       {2, 1, 4},
                                                      {8, 4},       {2, 2},
                                                      {4, 4, 4},    {16, 8, 4, 2, 1},
                                                      {8, 8, 8, 8}, {16, 16, 16, 16, 1}};
  for (int32_t const key_width : {4, 8}) {
    for (auto const& widths : payloads) {
      for (bool const nulls : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << key_width << ", " << widths.size() << " payloads, NULLs " << nulls);
        TestTable left = table_of(key_width, shuffled(3000, 1000, 44), widths, 45);
        TestTable right = table_of(key_width, random_keys(9000, 5000, 46), {4, 8}, 47);
        if (nulls) {
          left.columns[0].with_nulls(left.rows, 5, 3, 1);
          left.columns[1].with_nulls(left.rows, 3, 2, 2);
          left.columns.back().with_nulls(left.rows, 4, 1, 5);
          right.columns[0].with_nulls(right.rows, 7, 1, 3);
        }
        expect_way(left, right, kPlaced);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Places, and columns that are read by row number, beyond what is taken to lie in a cache: they are
// asked for ahead.
TEST(KeyPlaces, AreAskedForAheadWhereThereAreMany) {
  TestTable left = table_of(4, shuffled(200000, 1000, 56), {16, 4, 1}, 57);
  left.columns[2].with_nulls(left.rows, 5, 3, 1);
  TestTable const right = table_of(4, random_keys(450000, 220000, 58), {8}, 59);
  expect_way(left, right, kPlaced);
  plan::JoinPlan plan = cpu_plan();
  plan.expected_rows = 40000;
  expect_way(left, right, kListed, plan);
}

TEST(KeyPlaces, BeginAtTheLowestKey) {
  for (uint64_t const lowest : {uint64_t{0}, uint64_t{1} << 31, ~uint64_t{0} - 1500}) {
    for (int32_t const key_width : {4, 8}) {
      SCOPED_TRACE(testing::Message() << lowest << ", " << key_width);
      // Some below the lowest, some beyond the highest.
      Keys asked = random_keys(9000, 5000, 50);
      for (uint64_t& key : asked) key += lowest - 1000;
      expect_way(table_of(key_width, shuffled(3000, lowest, 51), {4, 4}, 52),
                 table_of(key_width, asked, {4}, 53), kPlaced);
      if (HasFatalFailure()) return;
    }
  }
}

// Of blocks in which all rows match no row is looked at by itself; of the others each.
TEST(KeyPlaces, AreOfAllOrSomeRowsOfABlock) {
  TestTable const left = table_of(4, shuffled(5000, 100, 54), {4, 4}, 55);
  Keys asked = random_keys(20000, 5000, 56);
  for (uint64_t& key : asked) key += 100;
  auto const asking = [](const Keys& keys) {
    TestTable table = table_of(4, keys, {4, 8}, 57);
    table.columns[1].with_nulls(table.rows, 4, 3, 58);
    table.columns[2].with_nulls(table.rows, 100, 0, 59);
    return table;
  };
  expect_way(left, asking(asked), kPlaced);
  for (size_t const missing : {size_t{0}, size_t{63}, size_t{64}, size_t{511}, size_t{512},
                               size_t{4095}, asked.size() - 1}) {
    Keys some = asked;
    some[missing] = 7;
    expect_way(left, asking(some), kPlaced);
    if (HasFatalFailure()) return;
  }
}

TEST(KeyPlaces, AreNotOfKeysThatComeTwiceOrAreFarApart) {
  TestTable const right = table_of(4, random_keys(9000, 30000, 58), {4, 4}, 59);
  expect_way(table_of(4, shuffled(3000, 5, 60, 7), {4, 4}, 61), right, kPlaced);
  expect_way(table_of(4, shuffled(3000, 5, 60, 9), {4, 4}, 61), right, "build rows packed");
  Keys twice = shuffled(3000, 5, 62);
  twice[2999] = twice[0];
  expect_way(table_of(4, twice, {4, 4}, 63), right, "build rows packed");
}

// Where few rows come out those are read where they lie.
TEST(KeyPlaces, AreNotMadeForFewMatches) {
  for (int32_t const key_width : {4, 8}) {
    TestTable left = table_of(key_width, shuffled(70000, 1000, 40), {4, 8}, 41);
    TestTable right = table_of(key_width, random_keys(90000, 700000, 42), {8, 4}, 43);
    left.columns[0].with_nulls(left.rows, 50, 3, 1);
    left.columns[1].with_nulls(left.rows, 3, 2, 2);
    right.columns[0].with_nulls(right.rows, 7, 1, 3);
    right.columns[1].with_nulls(right.rows, 4, 0, 4);
    plan::JoinPlan plan = cpu_plan();
    plan.expected_rows = 10000;
    expect_way(left, right, kListed, plan);
    plan.expected_rows = 60000;
    expect_way(left, right, kPlaced, plan);
    if (HasFatalFailure()) return;
  }
}

// Nor where values are to stay in their columns.
TEST(KeyPlaces, AreNotMadeWhereValuesAreFetched) {
  TestTable const left = table_of(8, shuffled(3000, 1000, 64), {8, 4}, 65);
  TestTable const right = table_of(8, random_keys(20000, 5000, 66), {4, 8}, 67);
  expect_way(left, right, kListed, cpu_plan(plan::Gather::kUntransformed));
  expect_way(left, right, kPlaced, cpu_plan(plan::Gather::kTransformed));
}

// A build row's key is in the probe row, too.
TEST(KeyPlaces, AreNotMadeForKeysAlone) {
  for (size_t const rows : {size_t{100}, size_t{70000}}) {
    TestTable const left = table_of(4, shuffled(rows, 1000, 68), {}, 69);
    expect_way(left, table_of(4, random_keys(90000, 100000, 70), {4, 8}, 71), kListed);
  }
}

// One value of few bytes: partitions are faster than places that are in no cache, unless rows near
// each other have near keys, on both sides.
TEST(KeyPlaces, AreOfManyRowsWhereTheyAreWideOrNear) {
  constexpr size_t kRows = 8500000;  // places of more than 32 MiB
  constexpr size_t kBlock = 5000;
  auto const in_blocks = [&](uint64_t seed) {
    Keys keys(kRows);
    std::iota(keys.begin(), keys.end(), 0);
    std::mt19937_64 random(seed);
    for (auto at = keys.begin(); at != keys.end(); at += kBlock) {
      std::shuffle(at, at + kBlock, random);
    }
    return keys;
  };
  plan::JoinPlan plan = cpu_plan();
  auto const technique = [&](const Keys& left, const Keys& right, int32_t width) {
    return first_technique(table_of(4, left, {width}, 48), table_of(4, right, {4}, 49), plan);
  };
  Keys const near = in_blocks(49);
  Keys const far = shuffled(kRows, 0, 50);
  EXPECT_EQ(technique(near, in_blocks(51), 4), kPlaced);
  EXPECT_EQ(technique(near, far, 4).rfind("radix_onesweep", 0), 0U);
  EXPECT_EQ(technique(far, near, 4).rfind("radix_onesweep", 0), 0U);
  EXPECT_EQ(technique(far, far, 16), kPlaced);
  // Of which a third match: more than few, but fewer than partitions are worth.
  plan.expected_rows = 2700000;
  EXPECT_EQ(technique(far, near, 4), kListed);
}

// Wide rows that a cache holds, and that are asked for about once.
TEST(KeyPlaces, AreNotMadeForOneLookAtWideRows) {
  TestTable const left = table_of(4, shuffled(20000, 1000, 72), {16, 16}, 73);
  auto const asking = [](size_t rows) {
    return table_of(4, random_keys(rows, 30000, 74), {16, 16}, 75);
  };
  expect_way(left, asking(39000), kListed);
  expect_way(left, asking(40000), kPlaced);
}

}  // namespace
}  // namespace gpujoin::test
