// without_equality_on_cpu.cpp: pairs of a join without keys: found, evaluated, and written or
// marked by all workers.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/base/streaming.hpp"
#include "src/cpu/evaluate_condition.hpp"
#include "src/cpu/nested_loop.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/range_join.hpp"
#include "src/cpu/row_marks.hpp"
#include "src/execute/kinds.hpp"
#include "src/execute/without_equality.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;

// A byte for each row of a side: whether it has a match.
class MatchedBytes {
 public:
  MatchedBytes(base::Queue& queue, cpu::Workers& workers, const columns::Relation& relation)
      : rows_(static_cast<uint32_t>(relation.rows)),
        bytes_(cpu::RowMarks::clear_bytes(queue, workers, rows_)) {
    if (!bytes_ && rows_ != 0) {
      base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room for the marks of %u rows, a byte each",
                 rows_);
    }
  }
  bool has(uint32_t row) const { return byte(row).load(std::memory_order_relaxed) != 0; }
  void set(uint32_t row) { byte(row).store(1, std::memory_order_relaxed); }
  // Whether it was set already.
  bool set_again(uint32_t row) { return byte(row).exchange(1, std::memory_order_relaxed) != 0; }

  std::shared_ptr<columns::RowMarks> as_marks(base::Queue& queue) const {
    auto marks = std::make_shared<cpu::RowMarks>(queue, rows_);
    if (rows_ != 0) marks->mark_bytes(bytes_.as<uint8_t>());
    return marks;
  }

 private:
  std::atomic_ref<uint8_t> byte(uint32_t row) const {
    return std::atomic_ref(bytes_.as<uint8_t>()[row]);
  }
  uint32_t rows_;
  base::Buffer bytes_;
};

class TakenPairs final : public cpu::PairTaker {
 public:
  // expected: rows of the output; 0 where rows are marked.
  TakenPairs(base::Queue& queue, cpu::Workers& workers, const PlannedJoin& join,
             const RangeTask& task, bool is_evaluated, uint64_t expected)
      : queue_(queue), join_(join), task_(task), is_evaluated_(is_evaluated) {
    if (task.is_marked || task.once_ranged) {
      bool const of_ranged = task.once_ranged || task.marks_ranged;
      matched_ = std::make_unique<MatchedBytes>(
          queue, workers, *(of_ranged ? task.ranged(join) : task.sorted(join)));
    }
    if (task.once_sorted) {
      sorted_matched_ = std::make_unique<MatchedBytes>(queue, workers, *task.sorted(join));
    }
    if (!task.is_marked) output_ = make_output(queue, expected, join.spec.bounds.row_limit);
    workers_.resize(static_cast<size_t>(workers.threads()));
    if (!is_evaluated) return;
    for (auto& worker : workers_) worker = std::make_unique<Worker>(join);
  }

  bool wants(uint32_t outer) const override { return !task_.marks_ranged || !matched_->has(outer); }

  void take(int32_t worker, const uint32_t* outer, const uint32_t* inner, uint32_t count) override {
    if (is_evaluated_) {
      Worker& own = *workers_[static_cast<size_t>(worker)];
      count = keep_true(own, outer, inner, count);
      outer = own.outer;
      inner = own.inner;
    }
    if (task_.is_marked) {
      uint32_t const* const rows = task_.marks_ranged ? outer : inner;
      for (uint32_t i = 0; i < count; ++i) matched_->set(rows[i]);
      return;
    }
    if (task_.once_ranged) fail_for_second(*matched_, outer, count, task_.ranged_is_left);
    if (task_.once_sorted) fail_for_second(*sorted_matched_, inner, count, !task_.ranged_is_left);
    write(task_.ranged_is_left ? outer : inner, task_.ranged_is_left ? inner : outer, count);
  }

  void finish(base::Queue& queue, cpu::Workers& workers, columns::JoinResult& result) {
    if (task_.is_marked) {
      result.marks = matched_->as_marks(queue);
      return;
    }
    cpu::OutputRows::Finished finished = output_->finish(workers);
    result.rows = static_cast<int64_t>(finished.rows);
    result.left_rows = std::move(finished.columns[0].values);
    result.right_rows = std::move(finished.columns[1].values);
    result.statistics.output_resumes = finished.slabs - 1;
  }

 private:
  struct Worker {
    explicit Worker(const PlannedJoin& join) : evaluator(join.residual, *join.left, *join.right) {}
    cpu::ConditionEvaluator evaluator;
    uint8_t answers[cpu::kBatchRows];
    uint32_t outer[cpu::kBatchRows + 1];
    uint32_t inner[cpu::kBatchRows + 1];
  };

  // What is not written to costs nothing, but a limit counts it.
  static std::unique_ptr<cpu::OutputRows> make_output(base::Queue& queue, uint64_t expected,
                                                      int64_t most_rows) {
    constexpr uint64_t kLeast = 4096;
    std::vector<cpu::OutputShape> const shapes(2, {sizeof(uint32_t), false});
    for (;; expected /= 2) {
      try {
        return std::make_unique<cpu::OutputRows>(queue, shapes, expected, most_rows);
      } catch (const base::Error&) {
        if (expected <= kLeast) throw;
      }
    }
  }

  uint32_t keep_true(Worker& own, const uint32_t* outer, const uint32_t* inner,
                     uint32_t count) const {
    own.evaluator.evaluate(task_.ranged_is_left ? outer : inner,
                           task_.ranged_is_left ? inner : outer, count, own.answers);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i) {
      own.outer[kept] = outer[i];
      own.inner[kept] = inner[i];
      kept += own.answers[i] == cpu::kAnswerTrue ? 1U : 0U;
    }
    return kept;
  }

  void fail_for_second(MatchedBytes& matched, const uint32_t* rows, uint32_t count,
                       bool of_left) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (matched.set_again(rows[i])) fail_for_second_match(queue_, join_, of_left, rows[i]);
    }
  }

  void write(const uint32_t* left, const uint32_t* right, uint32_t count) {
    while (count != 0) {
      cpu::OutputRows::Place const place = output_->claim(count);
      output_->write_values(place, 0, reinterpret_cast<const std::byte*>(left));
      output_->write_values(place, 1, reinterpret_cast<const std::byte*>(right));
      left += place.rows;
      right += place.rows;
      count -= place.rows;
    }
    base::finish_streaming();
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  const RangeTask& task_;
  bool is_evaluated_;
  std::unique_ptr<MatchedBytes> matched_;         // of the side that is marked, or comes once
  std::unique_ptr<MatchedBytes> sorted_matched_;  // of the sorted side, where it comes once
  std::unique_ptr<cpu::OutputRows> output_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

cpu::RowList all_rows(uint64_t rows) {
  cpu::RowList list;
  list.count = rows;
  return list;
}

// Rows with a NULL that an inequality does not tell about, each with all of the other side.
void find_unknown(base::Queue& queue, cpu::Workers& workers, const columns::RangeProblem& problem,
                  cpu::PairTaker& taker) {
  auto const of_ranged = cpu::validity_of_side(problem, true);
  auto const of_sorted = cpu::validity_of_side(problem, false);
  cpu::nested_loop(workers, cpu::rows_with_null(queue, workers, of_ranged, problem.ranged_rows),
                   all_rows(problem.sorted_rows), taker);
  cpu::nested_loop(workers, cpu::rows_without_null(queue, workers, of_ranged, problem.ranged_rows),
                   cpu::rows_with_null(queue, workers, of_sorted, problem.sorted_rows), taker);
}

uint64_t with_margin(uint64_t expected) { return expected + expected / 8; }

}  // namespace

void without_equality_on_cpu(base::Queue& queue, const PlannedJoin& join, const RangeTask& task,
                             columns::JoinResult& result) {
  cpu::Workers workers(queue);
  bool const is_empty = join.left->rows == 0 || join.right->rows == 0;
  if (is_empty || task.is_nested_loop()) {
    TakenPairs taken(queue, workers, join, task, true, 0);
    if (!is_empty) {
      cpu::nested_loop(workers, all_rows(static_cast<uint64_t>(task.ranged(join)->rows)),
                       all_rows(static_cast<uint64_t>(task.sorted(join)->rows)), taken);
    }
    return taken.finish(queue, workers, result);
  }
  auto const range_join = cpu::make_range_join(queue, workers, task.problem);
  if (task.marks_ranged && !task.is_evaluated) {
    auto marks =
        std::make_shared<cpu::RowMarks>(queue, static_cast<uint32_t>(task.problem.ranged_rows));
    range_join->mark_matched(*marks);
    result.marks = std::move(marks);
    return;
  }
  // How many of the pairs that are found pass is not known.
  uint64_t const expected = task.is_evaluated ? 0 : with_margin(range_join->expected_pairs());
  TakenPairs taken(queue, workers, join, task, task.is_evaluated, expected);
  range_join->find(taken);
  if (task.with_unknown()) find_unknown(queue, workers, task.problem, taken);
  taken.finish(queue, workers, result);
}

}  // namespace gpujoin::execute
