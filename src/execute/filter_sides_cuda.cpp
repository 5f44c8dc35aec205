// filter_sides_cuda.cpp: rows of both sides left out before they are moved, or before a table is
// made of them.
#include <algorithm>

#include "src/base/traffic.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/plan/stage_costs.hpp"
#include "src/transform/filter_keys.hpp"

namespace gpujoin::execute {

namespace {

// Room for columns of so many rows, and some more: those who were seen may be too few.
uint64_t with_slack(double kept, uint32_t rows) {
  return std::min<uint64_t>(rows, static_cast<uint64_t>(kept * 17 / 16) + rows / 64);
}

// Of the probe rows, those that the join is expected to match and those that hashes take for them.
double kept_of_probe(const plan::JoinPlan& plan, uint32_t build_rows, uint32_t probe_rows) {
  int64_t const expected = plan.expected_rows / std::max(plan.expected_matches, 1);
  double const matched = static_cast<double>(std::min<int64_t>(expected, probe_rows));
  if (plan.filter != plan::Filter::kKeyHashes) return matched;
  uint64_t const places = base::traffic::hash_filter_places(build_rows);
  return matched + (probe_rows - matched) * plan::set_by_hashes(build_rows, places);
}

}  // namespace

// What lies in host memory comes behind its keys, which the filter does not wait for. Of few rows
// that are kept a warp of the filter has few loads at once, which a copy by row number has.
void GpuSide::move_along(double kept) {
  constexpr double kFewestKept = 0.125;
  prepared_.along.clear();
  if (prepared_.source_rows != nullptr || kept < kFewestKept * prepared_.rows) return;
  prepared_.along_room = with_slack(kept, prepared_.rows);
  for (size_t i = 0; i < payloads_.size(); ++i) {
    columns::DeviceColumn const& column = payloads_[i];
    bool const is_there = column.arrival == 0 && !column.data_copy;
    bool const fits = column.width == sizeof(uint32_t) || column.width == sizeof(uint64_t);
    if (is_key(i) || !is_there || !fits || column.validity != nullptr) continue;
    if (prepared_.along.size() == kernels::kMovedColumns) return;
    prepared_.along.push_back({column.data, column.width, {}});
  }
}

bool GpuSide::filter(const plan::JoinPlan& plan, const transform::ExpectedRanges* expected,
                     double build_within, GpuSide& build, GpuSide& probe) {
  bool const carries =
      plan.transform == plan::Transform::kRadixUnordered &&
      (plan.gather == plan::Gather::kCarried || plan.gather == plan::Gather::kCarriedRows);
  for (GpuSide* const side : {&build, &probe}) {
    carries ? side->prepare_to_carry(plan) : side->prepare(plan);
  }
  auto const filtered =
      plan::probes_table(plan.match) ? transform::Filtered::kBuild : transform::Filtered::kBoth;
  if (carries && plan.gather == plan::Gather::kCarried) {
    uint32_t const build_rows = build.prepared_.rows;
    build.move_along(build_within * build_rows);
    probe.move_along(kept_of_probe(plan, build_rows, probe.prepared_.rows));
  }
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
