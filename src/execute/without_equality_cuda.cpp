// without_equality_cuda.cpp: pairs of a join without keys on the GPU, evaluated in bounded pieces.
#include <algorithm>
#include <memory>
#include <utility>

#include "src/conditions/filter_pairs.hpp"
#include "src/execute/condition_columns.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/without_equality.hpp"
#include "src/match/range_join.hpp"
#include "src/match/range_sides.hpp"
#include "src/materialize/materialize.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;

// Build rows are the sorted side's, probe rows the ranged one's.
class TakenPairs final : public output::PairFilter {
 public:
  TakenPairs(base::Queue& queue, const PlannedJoin& join, const RangeTask& task)
      : queue_(queue), join_(join), task_(task) {
    if (task.is_evaluated) {
      condition_ = device_condition(queue, join.residual, *join.left, *join.right);
    }
    auto const marks_of = [&](const columns::Relation& relation) {
      return make_row_marks(queue, Memory::kDevice, relation.rows);
    };
    if (task.once_ranged || task.marks_ranged) ranged_ = marks_of(*task.ranged(join));
    if (task.once_sorted || (task.is_marked && !task.marks_ranged)) {
      sorted_ = marks_of(*task.sorted(join));
    }
  }

  uint64_t keep(uint32_t* build, uint32_t* probe, uint64_t pairs) override {
    if (condition_ != nullptr) {
      bool const ranged_is_left = task_.ranged_is_left;
      pairs = conditions::filter_pairs(queue_, *condition_, ranged_is_left ? probe : build,
                                       ranged_is_left ? build : probe, pairs);
    }
    if (task_.is_marked) {
      if (ranged_ != nullptr) ranged_->mark(probe, pairs);
      if (sorted_ != nullptr) sorted_->mark(build, pairs);
      return 0;
    }
    fail_for_second(ranged_.get(), probe, pairs, task_.ranged_is_left);
    fail_for_second(sorted_.get(), build, pairs, !task_.ranged_is_left);
    return pairs;
  }

  bool passes_all() const {
    return condition_ == nullptr && ranged_ == nullptr && sorted_ == nullptr;
  }
  std::shared_ptr<columns::RowMarks> marks() {
    return std::move(task_.marks_ranged ? ranged_ : sorted_);
  }

 private:
  void fail_for_second(columns::RowMarks* marks, const uint32_t* rows, uint64_t pairs,
                       bool of_left) const {
    if (marks == nullptr) return;
    if (auto const twice = marks->mark_once(rows, pairs)) {
      fail_for_second_match(queue_, join_, of_left, *twice);
    }
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  const RangeTask& task_;
  std::shared_ptr<const conditions::DeviceCondition> condition_;
  std::unique_ptr<columns::RowMarks> ranged_;
  std::unique_ptr<columns::RowMarks> sorted_;
};

match::RowList all_rows(uint64_t rows) {
  match::RowList list;
  list.count = static_cast<uint32_t>(rows);
  return list;
}

// Every row of a list with every row of the other one, as many pairs at a time as have room.
void nested_loop(base::Queue& queue, const match::RowList& ranged, const match::RowList& sorted,
                 output::GrowingPairs& pairs) {
  uint64_t const all = uint64_t{ranged.count} * sorted.count;
  for (uint64_t first = 0; first < all;) {
    queue.check_cancelled();
    uint64_t const count = std::min(pairs.make_room_for_candidates(all - first), all - first);
    if (count == 0) pairs.fail_for_room(1);
    kernels::PairTarget const room = pairs.room();
    materialize::CrossedRows const crossed{ranged.numbers.as<uint32_t>(),
                                           sorted.numbers.as<uint32_t>(), sorted.count};
    materialize::cross_pairs(queue, crossed, first, count, room.probe_out, room.build_out);
    pairs.filter_candidates(count);
    first += count;
  }
}

void find_unknown(base::Queue& queue, const columns::RangeProblem& problem,
                  output::GrowingPairs& pairs) {
  nested_loop(queue, match::rows_with_null(queue, problem, true), all_rows(problem.sorted_rows),
              pairs);
  nested_loop(queue, match::rows_without_null(queue, problem, true),
              match::rows_with_null(queue, problem, false), pairs);
}

}  // namespace

void without_equality_on_gpu(base::Queue& queue, const PlannedJoin& join, const RangeTask& task,
                             columns::JoinResult& result) {
  bool const is_empty = join.left->rows == 0 || join.right->rows == 0;
  if (task.marks_ranged && !task.is_evaluated && !is_empty) {
    match::MatchedRows const matched = match::matched_rows(queue, task.problem);
    result.marks = make_row_marks(queue, Memory::kDevice, task.ranged(join)->rows);
    result.marks->mark(matched.numbers.as<uint32_t>(), matched.count);
    return;
  }
  TakenPairs taken(queue, join, task);
  auto const expected = static_cast<uint64_t>(join.choice.plan().expected_rows);
  output::GrowingPairs pairs(queue, task.is_marked || is_empty ? 0 : expected,
                             taken.passes_all() ? nullptr : &taken,
                             static_cast<uint64_t>(join.spec.bounds.row_limit));
  if (is_empty) {
    // Nothing.
  } else if (task.is_nested_loop()) {
    nested_loop(queue, all_rows(static_cast<uint64_t>(task.ranged(join)->rows)),
                all_rows(static_cast<uint64_t>(task.sorted(join)->rows)), pairs);
  } else {
    match::range_join(queue, task.problem, pairs);
    if (task.with_unknown()) find_unknown(queue, task.problem, pairs);
  }
  if (task.is_marked) {
    result.marks = taken.marks();
    return;
  }
  pairs.finish();
  result.rows = static_cast<int64_t>(pairs.rows());
  result.left_rows = task.ranged_is_left ? pairs.probe_storage() : pairs.build_storage();
  result.right_rows = task.ranged_is_left ? pairs.build_storage() : pairs.probe_storage();
  result.statistics.output_resumes = pairs.resumes();
}

}  // namespace gpujoin::execute
