// built_partitions_cuda.cpp: partitions of whole rows, of which the match writes the output
// columns.
#include <utility>

#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/carried_columns.hpp"

namespace gpujoin::execute {

namespace {

// Pairs of row numbers are verified; where all columns are written, key columns are.
bool verifies_rows(const JoinStep& step, const GpuSide& side) {
  return side.is_hashed() && step.plan.gather == plan::Gather::kCarriedRows;
}

class BuiltPartitions final : public BuiltOnGpu {
 public:
  explicit BuiltPartitions(std::shared_ptr<const GpuSide> side) : side_(std::move(side)) {}

 private:
  plan::Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                             columns::JoinResult& result) const override {
    step.clock.enter("transform");
    probe.carry(step.plan, step.probe_numbers() || verifies_rows(step, probe));
    step.clock.enter("match");
    CarriedResult carried(*side_, probe, step.build_left(), result);
    match::WrittenRows written =
        match::carried_columns(step.queue, step.plan, side_->key_width(), side_->carried_side(),
                               probe.carried_side(), carried.outputs());
    if (verifies_rows(step, *side_)) {
      written.rows =
          verified(step, *side_, probe, carried.build_rows(), carried.probe_rows(), written.rows);
    }
    if (step.plan.gather == plan::Gather::kCarriedRows) step.clock.enter("materialize");
    return carried.finish(step, written);
  }

  std::shared_ptr<const GpuSide> side_;
};

}  // namespace

std::unique_ptr<const Built> build_partitions(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->carry(step.plan, step.build_numbers() || verifies_rows(step, *side));
  return std::make_unique<BuiltPartitions>(std::move(side));
}

}  // namespace gpujoin::execute
