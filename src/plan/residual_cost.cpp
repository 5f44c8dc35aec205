// residual_cost.cpp: bytes and seconds of a condition that is evaluated on pairs of row numbers.
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

namespace {

using base::traffic::gather;
using base::traffic::Locality;

// The columns are brought into the order of the keys once, and row numbers are fetched for the
// pairs.
Cost by_position_cost(const JoinShape& shape, uint64_t of_build, uint64_t of_probe,
                      const base::DeviceFacts& facts) {
  constexpr uint64_t kNumbers = 2 * base::traffic::kRowIdBytes;
  Cost cost =
      streamed(gather(shape.pairs, of_build + of_probe + kNumbers, Locality::kClustered), 4, facts);
  cost.moved += gather(shape.build_rows, of_build, Locality::kRandom);
  cost.moved += gather(shape.probe_rows, of_probe, Locality::kRandom);
  auto const rows_seconds = [&](uint64_t rows, uint64_t width) {
    return width == 0 ? 0 : read_seconds(static_cast<double>(rows), rows * width, facts);
  };
  cost.seconds +=
      rows_seconds(shape.build_rows, of_build) + rows_seconds(shape.probe_rows, of_probe);
  return cost;
}

}  // namespace

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
  if (reads.are_values &&
      reads_by_position(plan, shape.pairs, shape.build_rows + shape.probe_rows)) {
    return cost += by_position_cost(shape, of_build, of_probe, facts);
  }
  cost.moved += gather(shape.pairs, of_build, Locality::kRandom);
  cost.moved += gather(shape.pairs, of_probe, Locality::kClustered);
  if (of_build == 0) return cost;
  cost.seconds +=
      read_seconds(static_cast<double>(shape.pairs), shape.build_rows * of_build, facts);
  return cost;
}

}  // namespace gpujoin::plan
