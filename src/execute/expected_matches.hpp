// expected_matches.hpp: how many rows are expected to match, and to come out.
#pragma once

#include <cstdint>

#include "src/columns/join_kind.hpp"
#include "src/execute/estimate.hpp"

namespace gpujoin::execute {

// Rows of the match, and of either side with one.
struct Matches {
  double left_rows = 0;  // of the side
  double right_rows = 0;
  double left = 0;
  double right = 0;
  double pairs = 0;

  double matched(bool of_left) const { return of_left ? left : right; }
  double rows(bool of_left) const { return of_left ? left_rows : right_rows; }
  double unmatched(bool of_left) const { return rows(of_left) - matched(of_left); }
};

// Of keys of which nothing is known the larger side's are drawn from the smaller one's, each of
// which is there once; keys of the side that has fewer of them are all among the other's.
Matches matches_of(const ExpectedJoin& join);

// Rows of the output.
double rows_out(columns::JoinKind kind, const Matches& found);

// The nearest one that is counted.
int64_t whole_number(double number);

}  // namespace gpujoin::execute
