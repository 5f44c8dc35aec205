#include "src/execute/expected_matches.hpp"

#include <algorithm>
#include <cmath>

namespace gpujoin::execute {

namespace {

using columns::JoinKind;
using columns::RowsOfSide;

double as_double(int64_t number) { return static_cast<double>(number); }

}  // namespace

Matches matches_of(const ExpectedJoin& join) {
  Matches found;
  found.left_rows = as_double(join.left.relation->rows);
  found.right_rows = as_double(join.right.relation->rows);
  if (found.left_rows == 0 || found.right_rows == 0) return found;
  double const fewer = std::min(found.left_rows, found.right_rows);
  auto const distinct = [&](const ExpectedSide& side) {
    double const rows = as_double(side.relation->rows);
    double const said = side.distinct_keys == 0 ? fewer : as_double(side.distinct_keys);
    return std::clamp(said, 1.0, rows);
  };
  double const left_keys = distinct(join.left);
  double const right_keys = distinct(join.right);
  double const common = std::min(left_keys, right_keys);
  auto const matched = [&](const ExpectedSide& side, double keys) {
    double const rows = as_double(side.relation->rows);
    return std::min(rows, side.matched_rows ? as_double(*side.matched_rows) : rows * common / keys);
  };
  found.left = matched(join.left, left_keys);
  found.right = matched(join.right, right_keys);
  double const most = found.left * found.right;
  double const least = std::max(found.left, found.right);
  double const drawn = found.left * found.right / std::max(common, 1.0);
  found.pairs = join.pairs ? as_double(*join.pairs) : std::max(drawn, most == 0 ? 0 : least);
  found.pairs = std::min(found.pairs, most);
  if (found.pairs == 0) found.left = found.right = 0;
  found.left = std::min(found.left, found.pairs);
  found.right = std::min(found.right, found.pairs);
  return found;
}

double rows_out(JoinKind kind, const Matches& found) {
  if (kind == JoinKind::kCross) return found.left_rows * found.right_rows;
  double rows = 0;
  for (bool const left : {true, false}) {
    switch (columns::rows_of(kind, left)) {
      case RowsOfSide::kMatched:
        return found.matched(left);
      case RowsOfSide::kUnmatchedOnly:
      case RowsOfSide::kNotIn:
        return found.unmatched(left);
      case RowsOfSide::kMarked:
        return found.rows(left);
      case RowsOfSide::kUnmatched:
      case RowsOfSide::kSingle:
        rows += found.unmatched(left);
        break;
      default:
        break;
    }
  }
  return rows + found.pairs;
}

int64_t whole_number(double number) { return std::llround(std::clamp(number, 0.0, 9e18)); }

}  // namespace gpujoin::execute
