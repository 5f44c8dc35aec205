// built_table_cuda.cpp: tables of the whole build side, whose probe rows write the output columns.
#include <optional>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/small_table.hpp"
#include "src/match/table_columns.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;

class BuiltTable final : public BuiltOnGpu {
 public:
  BuiltTable(std::shared_ptr<const GpuSide> side, std::unique_ptr<const match::ColumnTable> table)
      : side_(std::move(side)), table_(std::move(table)) {}

 private:
  Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                       columns::JoinResult& result) const override {
    step.clock.enter("match");
    probe.prepare(step.plan, true);
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

  std::shared_ptr<const GpuSide> side_;
  std::unique_ptr<const match::ColumnTable> table_;
};

}  // namespace

std::unique_ptr<const Built> build_table(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->prepare(step.plan);
  step.clock.enter("match");
  side->carry_in_place(step.build_numbers());
  match::TableSide keys = side->table_side();
  if (step.seen != nullptr && step.seen->keys == keys.keys && step.seen->rows == keys.rows) {
    keys.range = &step.seen->range;
  }
  auto table =
      match::make_table(step.queue, step.plan, side->key_width(), keys, side->table_columns());
  if (table == nullptr) return nullptr;
  return std::make_unique<BuiltTable>(std::move(side), std::move(table));
}

Finding join_in_one_launch(const JoinStep& step, GpuSide& build, GpuSide& probe,
                           match::RepeatedKeys repeated, columns::JoinResult& result) {
  step.clock.enter("transform");
  build.prepare(step.plan, true);
  step.clock.enter("match");
  probe.prepare(step.plan, true);
  build.carry_in_place(step.build_numbers());
  probe.carry_in_place(step.probe_numbers());
  CarriedResult carried(build, probe, step.build_left(), result);
  std::optional<match::SmallRows> const written =
      match::small_table(step.queue, step.plan, build.key_width(), build.table_side(),
                         probe.table_side(), repeated, carried.outputs(), early_limit(step, build));
  if (!written) return Finding::kKeysRepeat;
  step.clock.add_kernel_time(written->milliseconds);
  if (written->table != step.plan.match) {
    step.clock.note(base::text("%s: the keys are too far apart for %s",
                               plan::to_text(written->table), plan::to_text(step.plan.match)));
  }
  return carried.finish(step, *written);
}

}  // namespace gpujoin::execute
