// built_partitions_cuda.cpp: partitions of whole rows, of which the match writes the output
// columns.
#include <utility>

#include "src/execute/built.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/carried_columns.hpp"

namespace gpujoin::execute {

namespace {

class BuiltPartitions final : public Built {
 public:
  explicit BuiltPartitions(std::shared_ptr<const GpuSide> side) : side_(std::move(side)) {}

  plan::Finding probe(const JoinStep& step, GpuSide& probe,
                      columns::JoinResult& result) const override {
    step.clock.enter("transform");
    probe.carry(step.plan, step.probe_numbers() || probe.is_hashed());
    step.clock.enter("match");
    CarriedResult carried(*side_, probe, step.build_left(), result);
    match::WrittenRows written =
        match::carried_columns(step.queue, step.plan, side_->key_width(), side_->carried_side(),
                               probe.carried_side(), carried.outputs());
    if (side_->is_hashed()) {
      written.rows =
          verified(step, *side_, probe, carried.build_rows(), carried.probe_rows(), written.rows);
    }
    if (step.plan.gather == plan::Gather::kCarriedRows) step.clock.enter("materialize");
    carried.finish(step.queue, written);
    return plan::Finding::kJoined;
  }

 private:
  std::shared_ptr<const GpuSide> side_;
};

}  // namespace

std::unique_ptr<const Built> build_partitions(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->carry(step.plan, step.build_numbers() || side->is_hashed());
  return std::make_unique<BuiltPartitions>(std::move(side));
}

}  // namespace gpujoin::execute
