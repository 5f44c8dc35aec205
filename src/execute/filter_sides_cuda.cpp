// filter_sides_cuda.cpp: rows of both sides left out before they are moved, or before a table is
// made of them.
#include "src/execute/gpu_side.hpp"
#include "src/transform/filter_keys.hpp"

namespace gpujoin::execute {

bool GpuSide::filter(const plan::JoinPlan& plan, const transform::ExpectedRanges* expected,
                     GpuSide& build, GpuSide& probe) {
  bool const carries =
      plan.transform == plan::Transform::kRadixUnordered &&
      (plan.gather == plan::Gather::kCarried || plan.gather == plan::Gather::kCarriedRows);
  for (GpuSide* const side : {&build, &probe}) {
    carries ? side->prepare_to_carry(plan) : side->prepare(plan);
  }
  auto const filtered =
      plan::probes_table(plan.match) ? transform::Filtered::kBuild : transform::Filtered::kBoth;
  if (plan.filter == plan::Filter::kKeyHashes) {
    transform::filter_by_hashes(build.queue_, filtered, &build.prepared_, &probe.prepared_);
  } else if (!transform::filter_by_bits(build.queue_, filtered, expected, &build.prepared_,
                                        &probe.prepared_)) {
    return false;
  }
  build.is_filtered_ = probe.is_filtered_ = true;
  return true;
}

}  // namespace gpujoin::execute
