// encode_cost.cpp: bytes and seconds of key columns that become codes, and of pairs that are
// verified.
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

Cost encode_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  const uint64_t rows = shape.build_rows + shape.probe_rows;
  const auto columns = static_cast<uint64_t>(shape.build.key_width);
  // The unordered partitioning reads the columns in the place of codes when it counts, and writes
  // the codes; others have a launch a side for that.
  const bool counts = plan.transform == Transform::kRadixUnordered &&
                      plan.filter == Filter::kNone && plan.keys == Keys::kPacked;
  const uint64_t encoded = rows * (counts ? columns : columns + shape.key_width);
  // A match that writes columns widens a lone key as it writes it. Several are told apart behind
  // it.
  const bool puts_keys_out = shape.build.key_is_output || shape.probe.key_is_output;
  const bool decodes = plan.keys == Keys::kPacked && puts_keys_out &&
                       (shape.key_count > 1 || !writes_columns(plan.gather));
  const uint64_t decoded = decodes ? shape.pairs * (shape.key_width + columns) : 0;
  return streamed({encoded + decoded, 0}, (counts ? 0 : 2) + (decodes ? 1 : 0), facts);
}

Cost verify_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (plan.gather == Gather::kCarried) {
    const auto key_bytes = static_cast<uint64_t>(shape.build.key_width);
    return streamed({shape.pairs * 2 * key_bytes, 0}, 1, facts);
  }
  Cost cost = streamed({shape.pairs * base::traffic::kPairBytes, 0}, 1, facts);
  const auto columns = static_cast<double>(shape.key_count);
  for (const SideStatistics* side : {&shape.build, &shape.probe}) {
    const auto width = static_cast<uint64_t>(side->key_width / shape.key_count);
    for (int32_t i = 0; i < shape.key_count; ++i) {
      cost.moved += base::traffic::gather(shape.pairs, width, base::traffic::Locality::kRandom);
    }
    const uint64_t rows = static_cast<uint64_t>(side->rows);
    cost.seconds += columns * read_seconds(static_cast<double>(shape.pairs), rows * width, facts);
  }
  return cost;
}

}  // namespace gpujoin::plan
