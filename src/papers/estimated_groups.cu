#include "src/papers/estimated_groups.hpp"

#include <algorithm>

#include "kernels/papers/estimate_pairs.cuh"
#include "kernels/tuning.hpp"
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/output/exclusive_sum.hpp"

namespace gpujoin::papers {

using base::check;
using base::Memory;
using base::stream_of;
using Number = unsigned long long;

EstimatedGroups::EstimatedGroups(base::Queue& queue, const PartitionSizes& sizes,
                                 uint64_t expected_pairs, output::GrowingPairs& pairs,
                                 uint64_t buffer_pairs, Estimate kind)
    : queue_(queue), pairs_(pairs), partitions_(sizes.partitions), kind_(kind) {
  counters_ = queue.device_pool->allocate_rows<kernels::GroupCounters>(Memory::kDevice, 1,
                                                                       "counters of groups");
  check(cudaMemsetAsync(counters_.data(), 0, sizeof(kernels::GroupCounters), stream_of(queue)),
        "starting the counters of groups");
  estimate(sizes);
  Number const estimated = estimates_.as<Number>()[partitions_];
  if (kind_ == Estimate::kMatchRate && expected_pairs != 0 && estimated != 0) {
    correction_ = static_cast<double>(expected_pairs) / static_cast<double>(estimated);
  }
  uint64_t const expected = expected_pairs != 0 ? expected_pairs : estimated;
  buffer_pairs_ = buffer_pairs != 0 ? buffer_pairs
                                    : std::max<uint64_t>(expected / kernels::kGroupShares,
                                                         kernels::kGroupLeastPairs);
}

void EstimatedGroups::estimate(const PartitionSizes& sizes) {
  base::Pool& pool = *queue_.device_pool;
  base::Buffer const sums =
      pool.allocate_rows<Number>(Memory::kDevice, uint64_t{partitions_} + 1, "estimates");
  double const rows = std::min(sizes.build_rows, sizes.probe_rows);
  double const distinct = kind_ == Estimate::kWorstCase ? 1.0 : std::max(rows / partitions_, 1.0);
  double const most = 9.2e18 / partitions_;
  unsigned const grid = base::grid_of(uint64_t{partitions_} + 1, kernels::kStreamThreads);
  kernels::estimate_pairs_kernel<<<grid, kernels::kStreamThreads, 0, stream_of(queue_)>>>(
      sizes.build_offsets, sizes.probe_offsets, partitions_, distinct, most, sums.as<Number>());
  check(cudaGetLastError(), "estimating the output of partitions");
  output::exclusive_sum(queue_, sums.as<Number>(), uint64_t{partitions_} + 1);

  estimates_ = pool.allocate_rows<Number>(Memory::kPinned, uint64_t{partitions_} + 1, "estimates");
  base::copy(queue_, estimates_.data(), Memory::kPinned, sums.data(), Memory::kDevice,
             (uint64_t{partitions_} + 1) * sizeof(Number));
  if (sizes.unit_ends != nullptr) {
    unit_ends_ = pool.allocate_rows<Number>(Memory::kPinned, partitions_, "work units");
    base::copy(queue_, unit_ends_.data(), Memory::kPinned, sizes.unit_ends, Memory::kDevice,
               uint64_t{partitions_} * sizeof(Number));
  }
  base::finish(queue_);
}

uint64_t EstimatedGroups::unit_end(uint32_t partition) const {
  return unit_ends_ ? unit_ends_.as<Number>()[partition] : uint64_t{partition} + 1;
}

uint32_t EstimatedGroups::partition_of(uint64_t unit) const {
  if (!unit_ends_) return static_cast<uint32_t>(std::min<uint64_t>(unit, partitions_));
  auto const* ends = unit_ends_.as<Number>();
  return static_cast<uint32_t>(std::upper_bound(ends, ends + partitions_, unit) - ends);
}

double EstimatedGroups::estimate_below(uint64_t unit) const {
  auto const* estimates = estimates_.as<Number>();
  uint32_t const partition = partition_of(unit);
  auto const below = static_cast<double>(estimates[partition]);
  if (partition == partitions_) return below;
  uint64_t const first = partition == 0 ? 0 : unit_end(partition - 1);
  auto const units = static_cast<double>(unit_end(partition) - first);
  double const share = static_cast<double>(unit - first) / units;
  return below + share * (static_cast<double>(estimates[partition + 1]) - below);
}

uint64_t EstimatedGroups::group_end(uint64_t room) const {
  uint32_t const first = partition_of(done_);
  if (first == partitions_) return done_;
  double const margin = kind_ == Estimate::kWorstCase ? 1.0 : kernels::kGroupMargin;
  double const limit = estimate_below(done_) + static_cast<double>(room) / (correction_ * margin);
  // One partition at least, however large.
  auto const* estimates = estimates_.as<Number>();
  auto const* last = std::upper_bound(
      estimates + first + 2, estimates + partitions_ + 1, limit,
      [](double most, Number estimate) { return most < static_cast<double>(estimate); });
  return unit_end(static_cast<uint32_t>(last - estimates) - 2);
}

kernels::GroupSink EstimatedGroups::sink() {
  uint64_t room = std::max(buffer_pairs_, least_pairs_);
  while (!pairs_.try_room(room)) {
    uint64_t const smaller = std::max({room / 2, least_pairs_, pairs_.room_pairs()});
    if (smaller >= room) pairs_.fail_for_room(room);
    room = smaller;
  }
  end_unit_ = group_end(room);
  auto* counters = counters_.as<kernels::GroupCounters>();
  check(cudaMemsetAsync(&counters->pairs.reserved, 0, sizeof(Number), stream_of(queue_)),
        "starting a group");
  check(cudaMemsetAsync(&counters->pairs.filled, 0xff, sizeof(Number), stream_of(queue_)),
        "starting a group");
  check(cudaMemsetAsync(&counters->stopped, 0, sizeof(Number), stream_of(queue_)),
        "starting a group");
  kernels::GroupSink sink{};
  static_cast<kernels::PairTarget&>(sink) = pairs_.room();
  sink.taken = &counters->pairs.taken;
  sink.end_unit = end_unit_;
  sink.capacity = room;
  sink.counters = counters;
  sink.done_before = done_;
  return sink;
}

bool EstimatedGroups::collect() {
  kernels::GroupCounters const found = base::read_back(
      queue_, static_cast<const kernels::GroupCounters*>(counters_.as<kernels::GroupCounters>()));
  bool const refused = found.pairs.filled != ~0ULL;
  uint64_t const written = refused ? found.pairs.filled : found.pairs.reserved;
  bool const unfinished = found.done < end_unit_;
  if (unfinished && !refused && found.stopped == 0) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%llu work units of a group were not done",
               static_cast<Number>(end_unit_ - found.done));
  }
  pairs_.keep(written);
  ++groups_;
  if (unfinished) {
    ++overflows_;
    pairs_.note_resume();
  }
  // Not one batch fitted: the next buffer holds all that were refused.
  least_pairs_ = unfinished && written == 0 ? std::max<uint64_t>(found.pairs.reserved, 1) : 1;
  if (kind_ == Estimate::kMatchRate) correct(written, found.done);
  done_ = found.done;
  return done_ >= unit_end(partitions_ - 1);
}

void EstimatedGroups::correct(uint64_t written, uint64_t done) {
  double const before = estimate_below(done_);
  double const all = estimate_below(done);
  if (all <= before) return;
  // Of all groups, and of the last one when that was worse.
  double const overall = static_cast<double>(pairs_.rows()) / all;
  double const recent = static_cast<double>(written) / (all - before);
  correction_ = std::clamp(std::max(overall, recent), correction_ / kernels::kGroupMostCorrection,
                           correction_ * kernels::kGroupMostCorrection);
}

}  // namespace gpujoin::papers
