// range_problems.hpp: random joins by inequalities, and who says what they match: every pair, held
// against every inequality.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "src/columns/range_problem.hpp"

namespace gpujoin::tests {

using Code = std::optional<uint64_t>;  // none: NULL
using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// A column with its memory.
struct CodesOfRows {
  std::vector<uint64_t> codes;
  std::vector<uint8_t> validity;
  int64_t offset = 0;

  static CodesOfRows of(const std::vector<Code>& values, int64_t offset) {
    CodesOfRows made;
    made.offset = offset;
    bool has_null = false;
    made.validity.assign((values.size() + static_cast<size_t>(offset)) / 8 + 1, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      size_t const bit = i + static_cast<size_t>(offset);
      if (values[i]) made.validity[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
      has_null |= !values[i];
      // What lies beneath a NULL is anything.
      made.codes.push_back(values[i].value_or(i * 0x9e3779b97f4a7c15ULL));
    }
    if (!has_null) made.validity.clear();
    return made;
  }
  columns::CodeColumn view() const {
    return {codes.data(), {validity.empty() ? nullptr : validity.data(), offset}};
  }
};

struct Operator {
  bool sorted_is_less = true;
  bool or_equal = false;
  bool holds(const Code& ranged, const Code& sorted) const {
    if (!ranged || !sorted) return false;
    if (*ranged == *sorted) return or_equal;
    return (*sorted < *ranged) == sorted_is_less;
  }
};

struct RandomProblem {
  std::vector<std::vector<Code>> ranged;  // of each inequality
  std::vector<std::vector<Code>> sorted;
  std::vector<Operator> operators;
  bool one_order = false;

  std::vector<CodesOfRows> held;
  columns::RangeProblem problem() {
    columns::RangeProblem made;
    made.ranged_rows = ranged.front().size();
    made.sorted_rows = sorted.front().size();
    made.one_order = one_order;
    held.clear();
    for (size_t i = 0; i < operators.size(); ++i) {
      held.push_back(CodesOfRows::of(ranged[i], 3));
      held.push_back(CodesOfRows::of(sorted[i], 5));
    }
    for (size_t i = 0; i < operators.size(); ++i) {
      made.inequalities.push_back({held[2 * i].view(), held[2 * i + 1].view(),
                                   operators[i].sorted_is_less, operators[i].or_equal});
    }
    return made;
  }
  bool matches(size_t ranged_row, size_t sorted_row) const {
    for (size_t i = 0; i < operators.size(); ++i) {
      if (!operators[i].holds(ranged[i][ranged_row], sorted[i][sorted_row])) return false;
    }
    return true;
  }
  Pairs pairs() const {
    Pairs found;
    for (size_t r = 0; r < ranged.front().size(); ++r) {
      for (size_t s = 0; s < sorted.front().size(); ++s) {
        if (matches(r, s)) found.emplace_back(r, s);
      }
    }
    return found;
  }
};

// values: how many there are to draw from; 0: codes of all 64 bits.
inline std::vector<Code> draw_codes(std::mt19937_64& random, size_t rows, uint64_t values,
                                    bool with_nulls) {
  std::vector<Code> made;
  for (size_t i = 0; i < rows; ++i) {
    if (with_nulls && random() % 5 == 0) {
      made.emplace_back(std::nullopt);
    } else {
      made.emplace_back(values == 0 ? random() : random() % values + (uint64_t{1} << 63) - 7);
    }
  }
  return made;
}

inline RandomProblem draw_problem(uint64_t seed, size_t ranged_rows, size_t sorted_rows) {
  std::mt19937_64 random(seed);
  uint64_t const values[] = {0, 1, 3, 50, 100000, uint64_t{1} << 40};
  RandomProblem made;
  size_t const count = 1 + std::min<size_t>(random() % 3, 1);
  made.one_order = count > 1 && random() % 3 == 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t const of = values[random() % 6];
    made.ranged.push_back(draw_codes(random, ranged_rows, of, random() % 3 == 0));
    if (made.one_order && i == 1) {
      made.sorted.push_back(made.sorted[0]);
    } else {
      made.sorted.push_back(draw_codes(random, sorted_rows, of, random() % 3 == 0));
    }
    made.operators.push_back({random() % 2 == 0, random() % 2 == 0});
  }
  return made;
}

}  // namespace gpujoin::tests
