// built_table_cuda.cpp: tables of the whole build side, whose probe rows write the output columns.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/execute/alone_task.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/keys/marks.hpp"
#include "src/match/small_table.hpp"
#include "src/match/table_columns.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;

class BuiltTable final : public BuiltOnGpu {
 public:
  // any_row: of which only that they are there is known.
  BuiltTable(std::shared_ptr<const GpuSide> side, std::unique_ptr<const match::ColumnTable> table,
             bool any_row)
      : side_(std::move(side)), table_(std::move(table)), any_row_(any_row) {}

 private:
  Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                       columns::JoinResult& result) const override {
    step.clock.enter("match");
    probe.prepare(step.plan, true);
    if (any_row_) {
      find_alone(step, probe, result);
      return Finding::kJoined;
    }
    probe.carry_in_place(step.probe_numbers());
    CarriedResult carried(*side_, probe, step.build_left(), result);
    if (step.spec.keep_left) {
      look_up(step, probe, carried, result);
      return Finding::kJoined;
    }
    auto const written =
        table_->probe(step.queue, step.plan.expected_rows, probe.table_side(), carried.outputs());
    if (!written) return Finding::kKeysRepeat;
    step.clock.add_kernel_time(written->milliseconds);
    return carried.finish(step, *written);
  }
  bool tells_time(const Side& probe) const override {
    return table_->asks_in_one_launch(static_cast<const GpuSide&>(probe).rows());
  }

  // Of the right side's columns, for each left row; see JoinSpec::keep_left. Rows with NULL keys
  // have no match.
  void look_up(const JoinStep& step, const GpuSide& probe, CarriedResult& carried,
               columns::JoinResult& result) const {
    if (step.build_left() || probe.drops_rows()) return;
    auto const written = table_->look_up(step.queue, probe.table_side(), carried.outputs());
    if (!written) return;
    if (carried.finish(step, *written) != Finding::kJoined) return;
    result.keeps_left = true;
  }

  // Rows of the side that comes out alone, or marks of them.
  void find_alone(const JoinStep& step, GpuSide& probe, columns::JoinResult& result) const {
    bool const of_build = comes_alone(rows_of(step.spec, step.build_left()));
    bool const left = of_build == step.build_left();
    auto const wanted = rows_of(step.spec, left);
    std::optional<AloneTask> const task = alone_task(step.spec, left, probe.drops_rows());
    bool const is_part = wanted == columns::RowsOfSide::kMatched ||
                         (wanted == columns::RowsOfSide::kUnmatchedOnly && !task->with_match);
    auto const& columns = left ? step.spec.left_columns : step.spec.right_columns;
    bool const has_columns = probe.output_column_count() == columns.size();
    if (of_build || !is_part || !has_columns || side_->table_side().rows == 0) {
      result.marks = of_build ? marks_of(step, *side_, &probe) : marks_of(step, probe, nullptr);
      return;
    }
    probe.carry_in_place(task->numbers);
    AloneResult rows(*task, probe);
    int64_t const all = probe.table_side().rows;
    int64_t const expected = std::min(step.plan.expected_rows, all);
    auto const written =
        table_->probe(step.queue, expected, probe.table_side(), rows.outputs(),
                      task->with_match ? match::ProbeRows::kMatched : match::ProbeRows::kUnmatched);
    if (!written) base::fail(GPUJOIN_ERROR_INTERNAL, "a table of any rows was in vain");
    step.clock.add_kernel_time(written->milliseconds);
    (left ? result.left_alone : result.right_alone) = rows.finish(step, *written, result);
  }

  // Which rows of a side have a match. asking: of the build side, the probe side.
  std::shared_ptr<columns::RowMarks> marks_of(const JoinStep& step, const GpuSide& side,
                                              const GpuSide* asking) const {
    match::TableSide const rows = side.table_side();
    uint32_t const all = side.input_rows();
    if (rows.rows == 0 || side_->table_side().rows == 0) {
      return std::make_shared<keys::RowMarks>(step.queue, all);
    }
    base::Buffer bits = asking != nullptr
                            ? table_->mark_build(step.queue, asking->table_side(), rows)
                            : table_->mark_probe(step.queue, rows);
    const uint32_t* const numbers = side.prepared().source_rows;
    if (numbers == nullptr) {
      return std::make_shared<keys::RowMarks>(step.queue, std::move(bits), all);
    }
    auto marks = std::make_shared<keys::RowMarks>(step.queue, all);
    marks->mark_kept(numbers, bits.as<uint32_t>(), rows.rows);
    return marks;
  }

  std::shared_ptr<const GpuSide> side_;
  std::unique_ptr<const match::ColumnTable> table_;
  bool any_row_;
};

}  // namespace

std::unique_ptr<const Built> build_table(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->prepare(step.plan);
  step.clock.enter("match");
  // Hashed keys are verified by columns of the row that was found.
  bool const any_row = step.any_row && !side->is_hashed() && side->output_column_count() == 0;
  side->carry_in_place(step.build_numbers() && !any_row);
  match::TableSide keys = side->table_side();
  if (step.seen != nullptr && step.seen->keys == keys.keys && step.seen->rows == keys.rows) {
    keys.range = &step.seen->range;
  }
  match::RowsOfKey const key_rows = !any_row              ? match::RowsOfKey::kOnlyOne
                                    : step.has_heavy_keys ? match::RowsOfKey::kAnyOfMany
                                                          : match::RowsOfKey::kAny;
  auto table = match::make_table(step.queue, step.plan, side->key_width(), keys,
                                 side->table_columns(), key_rows);
  if (table == nullptr) return nullptr;
  return std::make_unique<BuiltTable>(std::move(side), std::move(table), any_row);
}

Finding join_in_one_launch(const JoinStep& step, GpuSide& build, GpuSide& probe,
                           match::RepeatedKeys repeated, uint32_t most_repeats_seen,
                           columns::JoinResult& result) {
  step.clock.enter("transform");
  build.prepare(step.plan, true);
  step.clock.enter("match");
  probe.prepare(step.plan, true);
  build.carry_in_place(step.build_numbers());
  probe.carry_in_place(step.probe_numbers());
  CarriedResult carried(build, probe, step.build_left(), result);
  std::optional<match::SmallRows> const written = match::small_table(
      step.queue, step.plan, build.key_width(), build.table_side(), probe.table_side(), repeated,
      carried.outputs(), early_limit(step, build), most_repeats_seen);
  if (!written) return Finding::kKeysRepeat;
  step.clock.add_kernel_time(written->milliseconds);
  if (written->is_turned) step.clock.note("the other side's, as build keys repeat");
  if (written->table != step.plan.match) {
    step.clock.note(base::text("%s: the keys are too far apart for %s",
                               plan::to_text(written->table), plan::to_text(step.plan.match)));
  }
  return carried.finish(step, *written);
}

}  // namespace gpujoin::execute
