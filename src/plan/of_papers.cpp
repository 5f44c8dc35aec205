// of_papers.cpp: which techniques are those of src/papers, and what a library without them says.
#include "src/base/status.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {

bool has_papers() { return GPUJOIN_PAPERS != 0; }

bool is_of_papers(Transfer transfer) {
  return transfer == Transfer::kManaged || transfer == Transfer::kManagedPrefetch ||
         transfer == Transfer::kZeroCopy;
}

bool is_of_papers(Transform transform) {
  return transform == Transform::kHistogramThread || transform == Transform::kHistogramWarp ||
         transform == Transform::kHistogramBlock || transform == Transform::kMergeSort;
}

bool is_of_papers(Skew skew) {
  return skew == Skew::kRedistributedBlocks || skew == Skew::kChildKernels;
}

bool is_of_papers(Match match) {
  return match == Match::kNestedLoop || match == Match::kMergeTwoBounds ||
         match == Match::kMergeOneBound;
}

bool is_of_papers(Output output, Gather gather) {
  return output == Output::kThreadPages || output == Output::kTwoPasses ||
         output == Output::kEstimatedGroups ||
         (output == Output::kBlockChunks && !writes_columns(gather));
}

std::optional<std::string> why_missing(const JoinPlan& plan) {
  if (has_papers() || plan.device == Device::kCpu) return std::nullopt;
  const auto missing = [](const char* stage, const char* technique) {
    return base::text(
        "%s=%s is one of the papers' techniques, which this library was built without", stage,
        technique);
  };
  if (is_of_papers(plan.transfer)) return missing("transfer", to_text(plan.transfer));
  if (is_of_papers(plan.transform)) return missing("transform", to_text(plan.transform));
  if (is_of_papers(plan.skew)) return missing("skew", to_text(plan.skew));
  if (is_of_papers(plan.match)) return missing("match", to_text(plan.match));
  if (!is_of_papers(plan.output, plan.gather)) return std::nullopt;
  const bool of_pairs = plan.output == Output::kBlockChunks;
  return missing(of_pairs ? "of pairs, output" : "output", to_text(plan.output));
}

}  // namespace gpujoin::plan
