// built_tiles_cuda.cpp: a side in the order of its keys, which is joined with another such side
// where both lie.
#include <optional>
#include <utility>

#include "src/execute/built_on_gpu.hpp"
#include "src/execute/carried_result.hpp"
#include "src/match/merge_tiles.hpp"

namespace gpujoin::execute {

namespace {

using plan::Finding;

class BuiltTiles final : public BuiltOnGpu {
 public:
  explicit BuiltTiles(std::shared_ptr<const GpuSide> side) : side_(std::move(side)) {}

 private:
  Finding probe_on_gpu(const JoinStep& step, GpuSide& probe,
                       columns::JoinResult& result) const override {
    step.clock.enter("match");
    probe.prepare(step.plan);
    probe.carry_in_place(step.probe_numbers());
    CarriedResult carried(*side_, probe, step.build_left(), result);
    auto const written =
        match::merge_tiles(step.queue, step.plan, side_->key_width(), side_->table_side(),
                           probe.table_side(), carried.outputs(), early_limit(step, *side_));
    if (!written) return Finding::kKeysUnordered;
    return carried.finish(step, *written);
  }

  std::shared_ptr<const GpuSide> side_;
};

}  // namespace

std::unique_ptr<const Built> build_tiles(const JoinStep& step, std::shared_ptr<GpuSide> side) {
  step.clock.enter("transform");
  side->prepare(step.plan);
  step.clock.enter("match");
  side->carry_in_place(step.build_numbers());
  return std::make_unique<BuiltTiles>(std::move(side));
}

}  // namespace gpujoin::execute
