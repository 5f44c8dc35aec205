// decided_rows.hpp: the rows that a join has by its kind, of pairs that a test said match.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

using Pair = std::tuple<int64_t, int64_t>;
inline constexpr int64_t kNoRow = GPUJOIN_NO_ROW_INT64;

inline bool has(gpujoin_join_kind kind, std::initializer_list<gpujoin_join_kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Row numbers of the kind, by looking at every pair.
inline std::vector<Pair> expected_rows(gpujoin_join_kind kind, size_t left_rows, size_t right_rows,
                                       const std::vector<Pair>& matches) {
  std::vector<uint32_t> of_left(left_rows);
  std::vector<uint32_t> of_right(right_rows);
  for (auto const& [left, right] : matches) {
    ++of_left[static_cast<size_t>(left)];
    ++of_right[static_cast<size_t>(right)];
  }
  std::vector<Pair> rows;
  bool const alone = has(kind, {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_LEFT_ANTI,
                                GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI});
  if (!alone) rows = matches;
  auto const add = [&](const std::vector<uint32_t>& counts, bool with_match, bool left) {
    for (size_t row = 0; row < counts.size(); ++row) {
      if ((counts[row] != 0) != with_match) continue;
      auto const number = static_cast<int64_t>(row);
      rows.emplace_back(left ? number : kNoRow, left ? kNoRow : number);
    }
  };
  if (has(kind, {GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_LEFT_ANTI})) {
    add(of_left, false, true);
  }
  if (has(kind, {GPUJOIN_JOIN_RIGHT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_RIGHT_ANTI})) {
    add(of_right, false, false);
  }
  if (kind == GPUJOIN_JOIN_LEFT_SEMI) add(of_left, true, true);
  if (kind == GPUJOIN_JOIN_RIGHT_SEMI) add(of_right, true, false);
  std::sort(rows.begin(), rows.end());
  return rows;
}

inline std::vector<Pair> pairs_in_order(const Result& result) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<int64_t> left(rows);
  std::vector<int64_t> right(rows);
  gpujoin_fetch fetches[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, left.data(), rows * 8),
                             fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, right.data(), rows * 8)};
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, fetches, 2));
  std::vector<Pair> pairs;
  for (size_t i = 0; i < rows; ++i) pairs.emplace_back(left[i], right[i]);
  return pairs;
}

inline std::vector<Pair> rows_of_kind(const Result& result, gpujoin_join_kind kind) {
  bool const of_left = has(kind, {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_LEFT_ANTI});
  bool const of_right = has(kind, {GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI});
  std::vector<Pair> rows;
  if (!of_left && !of_right) {
    rows = pairs_in_order(result);
  } else {
    std::vector<int64_t> numbers(static_cast<size_t>(rows_of(result)));
    gpujoin_fetch fetch = fetch_of(of_left ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX,
                                   0, numbers.data(), numbers.size() * 8);
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
    for (int64_t const number : numbers) {
      rows.emplace_back(of_left ? number : kNoRow, of_left ? kNoRow : number);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace gpujoin_test
