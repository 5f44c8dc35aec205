// order_pairs_test.cpp: pairs in the order of their row numbers, against std::sort.
#include "src/cpu/order_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpujoin.h"
#include "tests/own_queue.hpp"

namespace gpujoin {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

class OrderPairs : public testing::TestWithParam<int32_t> {
 protected:
  // Null: as they are.
  std::optional<Pairs> ordered(const Pairs& pairs, uint32_t first_rows) {
    std::vector<uint32_t> first;
    std::vector<uint32_t> second;
    for (auto const& [one, other] : pairs) {
      first.push_back(one);
      second.push_back(other);
    }
    auto const found =
        cpu::order_pairs(*queue_, workers_, first.data(), first_rows, second.data(), pairs.size());
    if (!found) return std::nullopt;
    Pairs made;
    for (size_t i = 0; i < pairs.size(); ++i) {
      made.emplace_back(found->first.as<uint32_t>()[i], found->second.as<uint32_t>()[i]);
    }
    return made;
  }
  void expect_sorted(Pairs pairs, uint32_t first_rows) {
    std::optional<Pairs> const made = ordered(pairs, first_rows);
    bool const was_sorted = std::is_sorted(pairs.begin(), pairs.end());
    std::sort(pairs.begin(), pairs.end());
    EXPECT_EQ(made.has_value(), !was_sorted);
    if (made) {
      EXPECT_EQ(*made, pairs);
    }
  }

  static gpujoin_context_options options() {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    options.cpu_threads = GetParam();
    return options;
  }
  tests::OwnQueue queue_{options()};
  cpu::Workers workers_{queue_};
};
INSTANTIATE_TEST_SUITE_P(Threads, OrderPairs, testing::Values(1, 3));

TEST_P(OrderPairs, SortsAnyNumberOfThem) {
  std::mt19937 random(7);
  for (size_t const count : {0, 1, 2, 63, 64, 65, 1000, 70000, 300000}) {
    for (uint32_t const rows : {1U, 2U, 255U, 256U, 100000U, 4000000000U}) {
      Pairs pairs;
      for (size_t i = 0; i < count; ++i) pairs.emplace_back(random() % rows, random());
      SCOPED_TRACE(std::to_string(count) + " pairs of " + std::to_string(rows));
      expect_sorted(pairs, rows);
    }
  }
}

TEST_P(OrderPairs, MissingRowsComeLast) {
  std::mt19937 random(8);
  for (uint32_t const rows : {1U, 7U, 8U, 65536U}) {
    Pairs pairs;
    for (uint32_t i = 0; i < 50000; ++i) {
      pairs.emplace_back(random() % 3 == 0 ? GPUJOIN_NO_ROW : random() % rows, i);
      if (random() % 5 == 0) pairs.back().second = GPUJOIN_NO_ROW;
    }
    expect_sorted(pairs, rows);
  }
}

TEST_P(OrderPairs, OneRowMayHaveMostOfThem) {
  std::mt19937 random(9);
  Pairs pairs;
  for (uint32_t i = 0; i < 200000; ++i) {
    pairs.emplace_back(random() % 10 != 0 ? 5 : random() % 100000, random());
  }
  expect_sorted(pairs, 100000);
}

TEST_P(OrderPairs, LeavesThemWhereTheyAre) {
  EXPECT_FALSE(ordered({{0, 3}, {0, 4}, {2, 0}, {GPUJOIN_NO_ROW, 1}}, 3));
  EXPECT_TRUE(ordered({{0, 4}, {0, 3}}, 3));
  EXPECT_TRUE(ordered({{GPUJOIN_NO_ROW, 0}, {2, 0}}, 3));
}

}  // namespace
}  // namespace gpujoin
