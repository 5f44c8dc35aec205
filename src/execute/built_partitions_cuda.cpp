// built_partitions_cuda.cpp: partitions of whole rows, of which the match writes the output
// columns.
#include <optional>
#include <utility>

#include "src/execute/alone_task.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/carried_columns.hpp"
#include "src/match/partition_sets.hpp"

namespace gpujoin::execute {

namespace {

// Pairs of row numbers are verified; where all columns are written, key columns are.
bool verifies_rows(const JoinStep& step, const GpuSide& side) {
  return side.is_hashed() && step.plan.gather == plan::Gather::kCarriedRows;
}

// Partitions tell which rows come out without pairs where equal codes are equal keys. Of chunks
// nobody knows before the last.
std::optional<AloneTask> task_of(const JoinStep& step, const GpuSide& side, bool left) {
  if (step.is_kept || side.is_hashed()) return std::nullopt;
  std::optional<AloneTask> task = alone_task(step.spec, left, side.drops_rows());
  // After an attempt that could not tell, nobody asked for the columns: they are fetched.
  auto const& columns = left ? step.spec.left_columns : step.spec.right_columns;
  if (task && side.output_column_count() != columns.size()) task->numbers = true;
  return task;
}

void carry(const JoinStep& step, GpuSide& side, bool left) {
  side.prepare_to_carry(step.plan);
  bool const numbers = left ? step.spec.left_rows() : step.spec.right_rows();
  std::optional<AloneTask> const task = task_of(step, side, left);
  side.carry(step.plan, (task ? task->numbers : numbers) || verifies_rows(step, side));
}

class BuiltPartitions final : public BuiltOnGpu {
 public:
  explicit BuiltPartitions(std::shared_ptr<const GpuSide> side) : side_(std::move(side)) {}

 private:
  plan::Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                             columns::JoinResult& result) const override {
    step.clock.enter("transform");
    carry(step, probe, !step.build_left());
    step.clock.enter("match");
    find_alone(step, probe, true, result);
    find_alone(step, probe, false, result);
    if (is_done(step, result)) return plan::Finding::kJoined;
    CarriedResult carried(*side_, probe, step.build_left(), result);
    match::WrittenRows written =
        match::carried_columns(step.queue, step.plan, side_->key_width(), side_->carried_side(),
                               probe.carried_side(), carried.outputs(), rows_behind(result));
    if (verifies_rows(step, *side_)) {
      written.rows =
          verified(step, *side_, probe, carried.build_rows(), carried.probe_rows(), written.rows);
    }
    if (step.plan.gather == plan::Gather::kCarriedRows) step.clock.enter("materialize");
    return carried.finish(step, written);
  }

  // Both sides' partitions are as good a table of the one as of the other.
  void find_alone(const JoinStep& step, const GpuSide& probe, bool left,
                  columns::JoinResult& result) const {
    bool const of_build = left == step.build_left();
    GpuSide const& side = of_build ? *side_ : probe;
    std::optional<AloneTask> const task = task_of(step, side, left);
    if (!task) return;
    GpuSide const& other = of_build ? probe : *side_;
    columns::JoinResult found;
    found.has_pairs = task->numbers;
    found.pair_sides = columns::PairSides::kLeft;
    CarriedResult carried(side, found);
    match::WrittenRows const written = match::partition_set(
        step.queue, step.plan, side.key_width(),
        task->with_match ? match::SetRows::kWithMatch : match::SetRows::kWithoutMatch,
        side.carried_side(), other.carried_side(), carried.outputs());
    carried.finish(step, written);
    (left ? result.left_alone : result.right_alone) =
        columns::RowsAlone{task->with_match, found.rows, found.left_rows, std::move(found.columns)};
  }

  // Nothing is left to be matched.
  static bool is_done(const JoinStep& step, const columns::JoinResult& result) {
    return (comes_alone(rows_of(step.spec, true)) && result.left_alone) ||
           (comes_alone(rows_of(step.spec, false)) && result.right_alone);
  }

  static uint64_t rows_behind(const columns::JoinResult& result) {
    int64_t const left = result.left_alone ? result.left_alone->rows : 0;
    int64_t const right = result.right_alone ? result.right_alone->rows : 0;
    return static_cast<uint64_t>(left + right);
  }

  std::shared_ptr<const GpuSide> side_;
};

}  // namespace

std::unique_ptr<const Built> build_partitions(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  carry(step, *side, step.build_left());
  return std::make_unique<BuiltPartitions>(std::move(side));
}

}  // namespace gpujoin::execute
