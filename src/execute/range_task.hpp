// range_task.hpp: a join without keys, as its executor does it: in which order rows are looked for,
// and on which codes.
#pragma once

#include "src/columns/range_problem.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/inequalities.hpp"
#include "src/plan/choose_without_equality.hpp"

namespace gpujoin::execute {

struct RangeTask {
  Inequalities inequalities;
  bool ranged_is_left = true;  // the outer side; the inner one is sorted
  bool is_marked = false;      // rows of the outer or inner side, in the place of pairs
  bool marks_ranged = false;
  // A second match of a row of these sides ends the join.
  bool once_ranged = false;
  bool once_sorted = false;
  bool is_evaluated = true;  // each pair that is found is held against the condition
  columns::RangeProblem problem;
  Held held;  // codes of the problem

  bool is_nested_loop() const { return inequalities.taken.empty(); }
  bool with_unknown() const { return !is_nested_loop() && inequalities.with_unknown; }
  const std::shared_ptr<const columns::Relation>& ranged(const PlannedJoin& join) const {
    return ranged_is_left ? join.left : join.right;
  }
  const std::shared_ptr<const columns::Relation>& sorted(const PlannedJoin& join) const {
    return ranged_is_left ? join.right : join.left;
  }
};

// Without codes.
RangeTask range_task_of(const PlannedJoin& join);
plan::PairSearch search_of(const RangeTask& task);
// Makes the codes where the executor reads. Queued on the stream.
void make_codes(base::Queue& queue, const PlannedJoin& join, plan::Device device, RangeTask* task);

// Which share of all pairs fulfils the inequalities, as some rows of both sides say; none where
// that is not worth a look, or columns would have to be copied for it.
std::optional<double> share_of_pairs(base::Queue& queue, const PlannedJoin& join,
                                     const Inequalities& inequalities);

}  // namespace gpujoin::execute
