// range_problem.hpp: a join by one or two inequalities, on order codes: which rows of one side lie
// in the range, or in both ranges, that a row of the other side spans.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bytes_column.hpp"

namespace gpujoin::columns {

// A column as unsigned codes in the order of its values, where the executor runs.
struct CodeColumn {
  const uint64_t* codes = nullptr;
  kernels::ValidityBits validity;  // bits null: all rows are there
};

// sorted < ranged, <=, >, >=: with another column's codes of a kind.
struct Inequality {
  CodeColumn ranged;
  CodeColumn sorted;
  bool sorted_is_less = true;
  bool or_equal = false;
};

// Each row of the ranged side has a range of the other side's, sorted by an inequality's codes.
// Rows with a NULL in any of them match nothing.
struct RangeProblem {
  uint64_t ranged_rows = 0;
  uint64_t sorted_rows = 0;
  std::vector<Inequality> inequalities;  // 1 or 2
  // The sorted codes of both have the same order (they are one column's): what a row matches are
  // neighbours.
  bool one_order = false;

  bool has_neighbours() const { return inequalities.size() == 1 || one_order; }
};

}  // namespace gpujoin::columns
