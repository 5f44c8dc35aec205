// transform_cost.cpp: bytes and seconds of ordering a side by its keys.
#include "src/plan/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// Of a radix pass' time the part that goes with the bytes of a row. H200, 2^27 rows: 1.03 ms a pass
// at 8 bytes a row, 1.44 ms at 16.
constexpr double kPassShareOfBytes = 0.4;

int32_t sort_bits(const JoinPlan& plan, const JoinShape& shape) {
  if (partitions(plan.transform)) return partition_bits(plan, shape);
  const int32_t width_bits = 8 * static_cast<int32_t>(shape.key_width);
  const int32_t varying = shape.sample.varying_key_bits;
  return varying > 0 ? std::min(varying, width_bits) : width_bits;
}

// One side's keys and one column, ordered by key bits.
Cost move_column(const JoinPlan& plan, const JoinShape& shape, uint64_t rows, int32_t width,
                 const base::DeviceFacts& facts) {
  const int32_t bits = sort_bits(plan, shape);
  const double passes = static_cast<double>(traffic::radix_passes(bits));
  const uint64_t value_width = static_cast<uint64_t>(width);
  const Traffic pass = traffic::radix_pass(rows, shape.key_width, value_width);
  const double row_bytes = static_cast<double>(shape.key_width + value_width);
  const double ranked = per_second(static_cast<double>(rows), facts.radix_pass_rows_per_second) *
                        (1 - kPassShareOfBytes + kPassShareOfBytes * row_bytes / 8);
  const Traffic histogram = traffic::radix_histogram(rows, shape.key_width);
  return {traffic::radix_sort(rows, shape.key_width, value_width, bits),
          stream_seconds(histogram, facts) + passes * std::max(ranked, stream_seconds(pass, facts)),
          2 + static_cast<int32_t>(passes)};
}

}  // namespace

Cost transform_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                    const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  if (plan.device == Device::kCuda) {
    // Before a partition keys are mixed, and after it its offsets are found; a sort looks which
    // bits vary.
    const Traffic keys = traffic::read_keys(rows, shape.key_width);
    if (partitions(plan.transform)) {
      cost += streamed(traffic::mix_keys(rows, shape.key_width) + keys, 2, facts);
    } else {
      cost += streamed(keys, 2, facts);
    }
    const bool moves_row_ids = plan.gather == Gather::kUntransformed || side.payload_widths.empty();
    if (moves_row_ids) cost += streamed(traffic::write_row_ids(rows), 1, facts);
  }
  return cost += move_column(plan, shape, rows, widths.front(), facts);
}

Cost further_columns_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  for (size_t i = 1; i < widths.size(); ++i) {
    const bool row_ids = shape.want_pairs && side.row_numbers && i + 1 == widths.size();
    if (row_ids) cost += streamed(traffic::write_row_ids(rows), 1, facts);
    cost += move_column(plan, shape, rows, widths[i], facts);
  }
  return cost;
}

}  // namespace gpujoin::plan
