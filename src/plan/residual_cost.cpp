// residual_cost.cpp: bytes and seconds of a condition that is evaluated on pairs of row numbers.
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

// Candidates are written, read, and written once more where they pass; probe rows lie closer
// together than build rows.
Cost residual_cost(const JoinPlan& plan, const JoinShape& shape, const ResidualReads& reads,
                   const base::DeviceFacts& facts) {
  const bool cpu = plan.device == Device::kCpu;
  const uint64_t pair_bytes = cpu ? 0 : 3 * base::traffic::kPairBytes;
  const bool build_left = plan.build_side == Side::kLeft;
  const auto of_build = static_cast<uint64_t>(build_left ? reads.left : reads.right);
  const auto of_probe = static_cast<uint64_t>(build_left ? reads.right : reads.left);
  Cost cost = streamed({shape.pairs * pair_bytes, 0}, cpu ? 0 : 2, facts);
  cost.moved += base::traffic::gather(shape.pairs, of_build, base::traffic::Locality::kRandom);
  cost.moved += base::traffic::gather(shape.pairs, of_probe, base::traffic::Locality::kClustered);
  if (of_build == 0) return cost;
  cost.seconds +=
      read_seconds(static_cast<double>(shape.pairs), shape.build_rows * of_build, facts);
  return cost;
}

}  // namespace gpujoin::plan
