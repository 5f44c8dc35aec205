// built_partitions_cuda.cpp: partitions of whole rows, of which the match writes the output
// columns.
#include <optional>
#include <utility>

#include "src/execute/aggregate.hpp"
#include "src/execute/aggregate_types.hpp"
#include "src/execute/alone_task.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/carried_columns.hpp"
#include "src/match/group_join.hpp"
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
  if (step.is_kept || !side.tells_all_keys()) return std::nullopt;
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
  // Sums are of columns by themselves.
  bool const packs = step.groups == nullptr;
  side.carry(step.plan, (task ? task->numbers : numbers) || verifies_rows(step, side), packs);
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
    if (step.groups != nullptr) return add_up(step, probe, result);
    if (find_alone(step, probe, true, result) || find_alone(step, probe, false, result)) {
      return plan::Finding::kJoined;
    }
    CarriedResult carried(*side_, probe, step.build_left(), result);
    std::optional<AloneResult> left = kept(step, probe, true);
    std::optional<AloneResult> right = kept(step, probe, false);
    match::KeptSides sides;
    auto const side_of = [&](bool is_left) -> match::KeptSide& {
      return is_left == step.build_left() ? sides.build : sides.probe;
    };
    if (left) side_of(true).outputs = &left->outputs();
    if (right) side_of(false).outputs = &right->outputs();
    sides.among_pairs = are_row_numbers(step, left.has_value(), right.has_value());
    match::WrittenRows written = match::carried_columns(
        step.queue, step.plan, side_->key_width(), side_->carried_side(), probe.carried_side(),
        carried.outputs(), &sides, early_limit(step, *side_));
    if (sides.any() && sides.among_pairs) {
      result.unmatched_among_pairs = true;
      auto const [no_build, no_probe] = std::pair(written.without_build, written.without_probe);
      result.left_rows_missing = static_cast<int64_t>(step.build_left() ? no_build : no_probe);
      result.right_rows_missing = static_cast<int64_t>(step.build_left() ? no_probe : no_build);
    } else {
      if (left) result.left_alone = left->finish(step, side_of(true).written, result);
      if (right) result.right_alone = right->finish(step, side_of(false).written, result);
    }
    if (verifies_rows(step, *side_)) {
      written.rows =
          verified(step, *side_, probe, carried.build_rows(), carried.probe_rows(), written.rows);
    }
    if (step.plan.gather == plan::Gather::kCarriedRows) step.clock.enter("materialize");
    return carried.finish(step, written);
  }

  const GpuSide& side_of(const JoinStep& step, const GpuSide& probe, bool left) const {
    return left == step.build_left() ? *side_ : probe;
  }

  // What meets, in the place of rows.
  plan::Finding add_up(const JoinStep& step, const GpuSide& probe,
                       columns::JoinResult& result) const {
    InPartitions const asked = step.groups->in_partitions();
    auto const summed = [&](bool left) {
      GpuSide const& side = side_of(step, probe, left);
      match::SummedSide made{side.carried_side(), {}};
      for (SumOfPartitions const& sum : left ? asked.left : asked.right) {
        bool const is_signed = numbers_of(sum.column).form == kernels::NumberForm::kSigned;
        made.columns.push_back({side.carried_data(sum.place), sum.column.width, is_signed});
      }
      return made;
    };
    result.added.emplace();
    bool const by_left = asked.groups == columns::Groups::kLeft;
    AloneResult rows(AloneTask{true, by_left ? step.spec.left_rows() : step.spec.right_rows()},
                     side_of(step, probe, by_left));
    match::JoinGroupSums sums =
        match::group_join(step.queue, step.plan, side_->key_width(), summed(by_left),
                          summed(!by_left), rows.outputs());
    std::vector<columns::Storage>& states = result.added->states;
    states.resize(1 + asked.left.size() + asked.right.size());
    states.front() = std::move(sums.counts);
    for (bool const left : {true, false}) {
      auto const& of = left ? asked.left : asked.right;
      auto& made = left == by_left ? sums.of_side : sums.of_other;
      for (size_t i = 0; i < of.size(); ++i) states[of[i].state] = std::move(made[i]);
    }
    result.added->rows = rows.finish(step, sums.written, result);
    return plan::Finding::kJoined;
  }

  // Where one side comes out alone, its rows: there is nothing else to match. Both sides'
  // partitions are as good a table of the one as of the other.
  bool find_alone(const JoinStep& step, const GpuSide& probe, bool left,
                  columns::JoinResult& result) const {
    if (!comes_alone(rows_of(step.spec, left))) return false;
    GpuSide const& side = side_of(step, probe, left);
    std::optional<AloneTask> const task = task_of(step, side, left);
    if (!task) return false;
    AloneResult rows(*task, side);
    match::WrittenRows const written = match::partition_set(
        step.queue, step.plan, side.key_width(),
        task->with_match ? match::SetRows::kWithMatch : match::SetRows::kWithoutMatch,
        side.carried_side(), side_of(step, probe, !left).carried_side(), rows.outputs());
    (left ? result.left_alone : result.right_alone) = rows.finish(step, written, result);
    return true;
  }

  // Rows without a match may be among the pairs: there is nothing but numbers of rows, and no side
  // waits for marks of the pairs.
  static bool are_row_numbers(const JoinStep& step, bool keeps_left, bool keeps_right) {
    if (!step.spec.left_columns.empty() || !step.spec.right_columns.empty()) return false;
    return comes_unmatched(rows_of(step.spec, true)) == keeps_left &&
           comes_unmatched(rows_of(step.spec, false)) == keeps_right;
  }

  // What the match writes of a side's rows without a match, beside the pairs.
  std::optional<AloneResult> kept(const JoinStep& step, const GpuSide& probe, bool left) const {
    if (comes_alone(rows_of(step.spec, left))) return std::nullopt;
    GpuSide const& side = side_of(step, probe, left);
    std::optional<AloneTask> const task = task_of(step, side, left);
    if (!task) return std::nullopt;
    return AloneResult(*task, side);
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
