// partition_sets.cu: host side of the rows of partitions with a match, or without one.
#include "src/match/partition_sets.hpp"

#include <algorithm>

#include "kernels/match/carried_columns.cuh"
#include "kernels/match/count_units.cuh"
#include "kernels/match/match_sets.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"

namespace gpujoin::match {

namespace {

using base::Memory;

base::Buffer start_units(base::Queue& queue, const CarriedSide& side, const CarriedSide& other,
                         uint32_t partitions) {
  base::Buffer unit_ends = queue.device_pool->allocate_rows<unsigned long long>(
      Memory::kDevice, partitions, "work units of a set");
  kernels::PartitionView build{};
  kernels::PartitionView probe{};
  build.offsets = other.offsets;
  probe.offsets = side.offsets;
  kernels::count_units_kernel<<<1, kernels::kPartitionSumThreads, 0, base::stream_of(queue)>>>(
      build, probe, partitions, kernels::SetUnits{}, unit_ends.as<unsigned long long>());
  base::check(cudaGetLastError(), "counting work units of a set");
  return unit_ends;
}

// Room is taken for all rows of the side: rows that find none are counted, one atomic a batch,
// which takes four times as long as the set.
template <typename Set>
WrittenRows write(base::Queue& queue, kernels::CarriedJoin<typename Set::Key> join,
                  uint32_t side_rows, const std::vector<CarriedOutput>& outputs) {
  constexpr uint64_t kShared = sizeof(typename Set::Shared);
  auto const kernel = kernels::carried_columns_kernel<Set>;
  uint32_t const resident = base::resident_blocks(queue, kernel, Set::kThreads, kShared,
                                                  "asking for shared memory of a set");
  uint64_t const most_units = join.partitions + uint64_t{side_rows} / kernels::kCarriedProbeRows;
  auto const blocks = static_cast<uint32_t>(std::min<uint64_t>(resident, most_units));
  ChunkedColumns columns(queue, outputs);
  columns.expect(side_rows, blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&join);
    columns.add_launch(blocks);
    base::launch_dependent(queue, kernel, blocks, Set::kThreads, kShared,
                           "looking for rows with a match", join);
    if (columns.collect()) return columns.finish();
    columns.require(blocks);
  }
}

// kWidth: of every column but the keys, 4 or 8; 0: of any.
template <typename Key, int kWidth>
WrittenRows write(base::Queue& queue, const kernels::CarriedJoin<Key>& join, uint32_t side_rows,
                  const std::vector<CarriedOutput>& outputs) {
  using Shape = kernels::CarriedShape<sizeof(Key)>;
  if constexpr (sizeof(Key) == 4) {
    if (32 - join.radix_bits <= kernels::kCarriedRankBits) {
      return write<kernels::SetByBits<kWidth, Shape>>(queue, join, side_rows, outputs);
    }
  }
  return write<kernels::SetByGroups<Key, kWidth, Shape>>(queue, join, side_rows, outputs);
}

}  // namespace

WrittenRows partition_set(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                          SetRows wanted, const CarriedSide& side, const CarriedSide& other,
                          const std::vector<CarriedOutput>& outputs) {
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    uint32_t const partitions = 1U << plan.radix_bits;
    base::Buffer const units = start_units(queue, side, other, partitions);
    kernels::CarriedJoin<Key> join{};
    join.build_keys = static_cast<const Key*>(other.keys);
    join.probe_keys = static_cast<const Key*>(side.keys);
    join.build_offsets = other.offsets;
    join.probe_offsets = side.offsets;
    join.radix_bits = plan.radix_bits;
    join.partitions = partitions;
    join.unit_ends = units.as<unsigned long long>();
    join.joins_all = true;
    join.wants_absent = wanted == SetRows::kWithoutMatch;
    switch (column_width(outputs, key_width)) {
      case 4:
        return write<Key, 4>(queue, join, side.rows, outputs);
      case 8:
        return write<Key, 8>(queue, join, side.rows, outputs);
      default:
        return write<Key, 0>(queue, join, side.rows, outputs);
    }
  });
}

}  // namespace gpujoin::match
