// range_join.hpp: pairs of rows by one or two inequalities.
//
// Neighbours: where the matches of a row lie side by side in the sorted side (one inequality, a
// value between two bounds), a look-up in its codes for each bound finds them.
//
// Dominance: otherwise both codes become places among the sorted side's, so that row (p, q) matches
// (first, second) where p < first and q < second (two inequalities, as of IEJoin, Khayyat et al.
// 2015). See src/cpu/dominance.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "src/columns/range_problem.hpp"
#include "src/columns/row_marks.hpp"
#include "src/cpu/pair_batches.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Sides are ranked when it is made.
class RangeJoin {
 public:
  virtual ~RangeJoin() = default;
  // Exact of neighbours, else what some rows of both sides say.
  virtual uint64_t expected_pairs() = 0;
  // Once. outer: of the ranged side.
  virtual void find(PairTaker& taker) = 0;
  // Marks rows of the ranged side that have a match, without looking for pairs.
  virtual void mark_matched(columns::RowMarks& marks) = 0;
};

std::unique_ptr<RangeJoin> make_range_join(base::Queue& queue, Workers& workers,
                                           const columns::RangeProblem& problem);

}  // namespace gpujoin::cpu
