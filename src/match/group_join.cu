// group_join.cu: host side of partitions whose matches are added up.
#include "src/match/group_join.hpp"

#include <utility>

#include "kernels/match/group_join.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/match/count_units.cuh"

namespace gpujoin::match {

namespace {

using base::Memory;

struct Counters {
  kernels::CarriedCounters units;
  unsigned long long groups;
};

Counters* start_counters(base::Queue& queue) {
  auto* const counters = queue.device->counters.as<Counters>();
  base::check(cudaMemsetAsync(counters, 0, sizeof(Counters), base::stream_of(queue)),
              "starting counters of a group-join");
  return counters;
}

void set_sums(const std::vector<SummedColumn>& columns, int32_t* count,
              kernels::SummedColumn* summed) {
  if (columns.size() > kernels::kMostGroupSums) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%zu sums of a side", columns.size());
  }
  *count = 0;
  for (SummedColumn const& column : columns) {
    summed[(*count)++] = {column.values, column.width, column.is_signed};
  }
}

template <typename Key>
kernels::GroupJoin<Key> join_of(const plan::JoinPlan& plan, const SummedSide& build,
                                const SummedSide& probe, Counters* counters,
                                const base::Buffer& units) {
  kernels::GroupJoin<Key> join{};
  join.build_keys = static_cast<const Key*>(build.side.keys);
  join.probe_keys = static_cast<const Key*>(probe.side.keys);
  join.build_offsets = build.side.offsets;
  join.probe_offsets = probe.side.offsets;
  join.radix_bits = plan.radix_bits;
  join.partitions = 1U << plan.radix_bits;
  join.unit_ends = units.as<unsigned long long>();
  join.joins_all = true;
  join.most_match = plan.expected_rows >= probe.side.rows / 2;
  join.counters = &counters->units;
  join.groups = &counters->groups;
  set_sums(build.columns, &join.build_sum_count, join.build_sums);
  set_sums(probe.columns, &join.probe_sum_count, join.probe_sums);
  return join;
}

template <typename Slots, kernels::ProbeSums kSums>
void launch_with(base::Queue& queue, const kernels::GroupJoin<typename Slots::Key>& join) {
  auto const kernel = kernels::group_join_kernel<Slots, kSums>;
  uint64_t const shared = sizeof(kernels::GroupJoinBlock<Slots>) +
                          sizeof(uint32_t) * kernels::slot_words(join.probe_sum_count);
  uint32_t const blocks = base::resident_blocks(queue, kernel, kernels::kGroupJoinThreads, shared,
                                                "asking for shared memory of a group-join");
  base::launch_dependent(queue, kernel, blocks, kernels::kGroupJoinThreads, shared,
                         "adding up matches", join);
}

template <typename Slots>
void launch(base::Queue& queue, const kernels::GroupJoin<typename Slots::Key>& join) {
  using Sums = kernels::ProbeSums;
  if (join.probe_sum_count == 0) return launch_with<Slots, Sums::kNone>(queue, join);
  bool const is_word = join.probe_sum_count == 1 && join.probe_sums[0].width == 4;
  if (is_word) return launch_with<Slots, Sums::kOneWord>(queue, join);
  launch_with<Slots, Sums::kAny>(queue, join);
}

template <typename Key>
void launch_for_keys(base::Queue& queue, const kernels::GroupJoin<Key>& join) {
  if constexpr (sizeof(Key) == 4) {
    if (32 - join.radix_bits <= kernels::kCarriedRankBits) {
      return launch<kernels::RankedSlots>(queue, join);
    }
  }
  launch<kernels::GroupedSlots<Key>>(queue, join);
}

// A word for each group that there may be.
columns::Storage make_words(base::Queue& queue, uint64_t rows, const char* what, uint64_t** words) {
  base::Buffer made = queue.device_pool->allocate_rows<uint64_t>(Memory::kDevice, rows, what);
  *words = made.as<uint64_t>();
  return columns::make_storage(std::move(made));
}

std::vector<columns::Storage> make_sums(base::Queue& queue, uint64_t rows, size_t count,
                                        uint64_t** words) {
  std::vector<columns::Storage> made;
  for (size_t i = 0; i < count; ++i) {
    made.push_back(make_words(queue, rows, "sums of groups", &words[i]));
  }
  return made;
}

}  // namespace

JoinGroupSums group_join(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                         const SummedSide& side, const SummedSide& other,
                         const std::vector<CarriedOutput>& outputs) {
  check_count(outputs);
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    queue.check_cancelled();
    Counters* const counters = start_counters(queue);
    base::Buffer const units = count_units(queue, side.side, other.side, 1U << plan.radix_bits,
                                           kernels::WholePartitions{});
    auto join = join_of<Key>(plan, side, other, counters, units);
    JoinGroupSums made;
    uint64_t const room = side.side.rows;
    made.counts = make_words(queue, room, "counts of groups", &join.counts);
    made.of_side = make_sums(queue, room, side.columns.size(), join.build_totals);
    made.of_other = make_sums(queue, room, other.columns.size(), join.probe_totals);
    for (CarriedOutput const& output : outputs) {
      base::Buffer column = queue.device_pool->allocate(
          Memory::kDevice, base::checked_bytes(room, static_cast<uint64_t>(output.width)),
          "a column of groups");
      join.columns[join.column_count++] = {output.source, column.data(), output.width, output.from};
      *output.target = columns::make_storage(std::move(column));
    }
    launch_for_keys(queue, join);
    made.written.rows = base::read_back(queue, &counters->groups);
    made.written.room = room;
    made.written.launches = 1;
    return made;
  });
}

}  // namespace gpujoin::match
