// inequalities.hpp: what of a join's condition a range join can find pairs by: inequalities of a
// left column and a right one that every matching pair fulfils.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/condition.hpp"

namespace gpujoin::execute {

// left < right, <=, >, >=.
struct ColumnInequality {
  int32_t left = 0;
  int32_t right = 0;
  bool left_is_less = true;
  bool or_equal = false;
};

struct Inequalities {
  std::vector<ColumnInequality> taken;  // 2 at most; none: every pair is a candidate
  bool is_all = false;                  // a pair that fulfils them fulfils the condition
  // A pair for which one of them is NULL counts too: the condition is "... IS NOT FALSE", or may be
  // no value for it.
  bool with_unknown = false;
  // Both are of one column of this side: a row of the other side matches neighbours in its order.
  bool one_left_column() const { return taken.size() == 2 && taken[0].left == taken[1].left; }
  bool one_right_column() const { return taken.size() == 2 && taken[0].right == taken[1].right; }
};

// Of the parts of a conjunction: comparisons of columns of both sides whose values have one order,
// and BETWEEN, where it is two of them. First those that both bound one column, an equality among
// them; else the first two.
Inequalities inequalities_of(const columns::Condition& condition, const columns::Relation& left,
                             const columns::Relation& right);

// "left.a < right.b and left.c >= right.d".
std::string text_of(const Inequalities& inequalities, const columns::Relation& left,
                    const columns::Relation& right);

}  // namespace gpujoin::execute
