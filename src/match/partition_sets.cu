// partition_sets.cu: host side of the rows of partitions with a match, or without one.
#include "src/match/partition_sets.hpp"

#include <algorithm>

#include "kernels/match/carried_columns.cuh"
#include "kernels/match/match_sets.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/match/count_units.cuh"

namespace gpujoin::match {

namespace {

// A kernel for one set.
template <typename Join>
struct Launch {
  void (*kernel)(Join);
  int threads;
  uint32_t blocks;
  uint32_t shared_bytes;

  void operator()(base::Queue& queue, const Join& join) const {
    base::launch_dependent(queue, kernel, blocks, threads, shared_bytes,
                           "looking for rows with a match", join);
  }
};

template <typename Set>
Launch<typename Set::Join> make_launch(base::Queue& queue, uint64_t most_units) {
  constexpr uint64_t kShared = sizeof(typename Set::Shared);
  auto const kernel = kernels::carried_columns_kernel<Set>;
  uint32_t const resident = base::resident_blocks(queue, kernel, Set::kThreads, kShared,
                                                  "asking for shared memory of a set");
  return {kernel, Set::kThreads, static_cast<uint32_t>(std::min<uint64_t>(resident, most_units)),
          kShared};
}

// kWidth: of every column but the keys, 4 or 8; 0: of any.
template <typename Key, int kWidth, bool kAmongPairs>
auto make_launch(base::Queue& queue, int32_t radix_bits, uint64_t most_units) {
  using Shape = kernels::CarriedShape<sizeof(Key)>;
  if constexpr (sizeof(Key) == 4) {
    if (32 - radix_bits <= kernels::kCarriedRankBits) {
      return make_launch<kernels::SetByBits<kWidth, Shape, kAmongPairs>>(queue, most_units);
    }
  }
  return make_launch<kernels::SetByGroups<Key, kWidth, Shape, kAmongPairs>>(queue, most_units);
}

uint64_t most_units(int32_t radix_bits, uint32_t side_rows) {
  return (uint64_t{1} << radix_bits) + uint64_t{side_rows} / kernels::kCarriedProbeRows;
}

template <typename Key>
Launch<kernels::CarriedJoin<Key>> make_launch(base::Queue& queue, int32_t radix_bits,
                                              uint32_t side_rows,
                                              const std::vector<CarriedOutput>& outputs) {
  uint64_t const units = most_units(radix_bits, side_rows);
  switch (column_width(outputs, sizeof(Key))) {
    case 4:
      return make_launch<Key, 4, false>(queue, radix_bits, units);
    case 8:
      return make_launch<Key, 8, false>(queue, radix_bits, units);
    default:
      return make_launch<Key, 0, false>(queue, radix_bits, units);
  }
}

template <typename Key>
kernels::CarriedJoin<Key> join_of(const plan::JoinPlan& plan, SetRows wanted,
                                  const CarriedSide& side, const CarriedSide& other,
                                  const base::Buffer& units, bool joins_all) {
  kernels::CarriedJoin<Key> join{};
  join.build_keys = static_cast<const Key*>(other.keys);
  join.probe_keys = static_cast<const Key*>(side.keys);
  join.build_offsets = other.offsets;
  join.probe_offsets = side.offsets;
  join.radix_bits = plan.radix_bits;
  join.partitions = 1U << plan.radix_bits;
  join.unit_ends = units.as<unsigned long long>();
  join.joins_all = joins_all;
  join.wants_absent = wanted == SetRows::kWithoutMatch;
  return join;
}

}  // namespace

// Room is taken for all rows of the side: rows that find none are counted, one atomic a batch,
// which takes four times as long as the set.
WrittenRows partition_set(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                          SetRows wanted, const CarriedSide& side, const CarriedSide& other,
                          const std::vector<CarriedOutput>& outputs) {
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    base::Buffer const units =
        count_units(queue, other, side, 1U << plan.radix_bits, kernels::SetUnits{nullptr});
    auto join = join_of<Key>(plan, wanted, side, other, units, true);
    auto const launch = make_launch<Key>(queue, plan.radix_bits, side.rows, outputs);
    ChunkedColumns columns(queue, outputs);
    columns.expect(side.rows, launch.blocks);
    for (;;) {
      queue.check_cancelled();
      columns.start(&join);
      columns.add_launch(launch.blocks);
      launch(queue, join);
      if (columns.collect()) return columns.finish();
      columns.require(launch.blocks);
    }
  });
}

uint32_t most_set_blocks(const base::Queue& queue) {
  return static_cast<uint32_t>(queue.context.facts.sm_count) *
         kernels::CarriedShape<4>::kBlocksPerSm;
}

void add_unmatched(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                   const CarriedSide& side, const CarriedSide& other, const uint8_t* left,
                   const std::vector<CarriedOutput>& outputs, ChunkedColumns& columns) {
  base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    base::Buffer const units =
        count_units(queue, other, side, 1U << plan.radix_bits, kernels::SetUnits{left});
    auto join = join_of<Key>(plan, SetRows::kWithoutMatch, side, other, units, left == nullptr);
    auto const launch = make_launch<Key>(queue, plan.radix_bits, side.rows, outputs);
    columns.go_on(&join);
    columns.add_launch(launch.blocks);
    launch(queue, join);
  });
}

void add_unmatched_among_pairs(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                               const CarriedSide& side, const CarriedSide& other,
                               const uint8_t* left, bool is_build, ChunkedColumns& columns) {
  base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    base::Buffer const units =
        count_units(queue, other, side, 1U << plan.radix_bits, kernels::SetUnits{left});
    kernels::OuterPairs<Key> join{};
    static_cast<kernels::CarriedJoin<Key>&>(join) =
        join_of<Key>(plan, SetRows::kWithoutMatch, side, other, units, left == nullptr);
    join.keeps_build = is_build;
    join.keeps_probe = !is_build;
    columns.go_on(&join);
    // The side is the set's probe side, whichever it is of the join.
    using kernels::CarriedFrom;
    for (int32_t i = 0; is_build && i < join.column_count; ++i) {
      CarriedFrom& from = join.columns[i].from;
      from = from == CarriedFrom::kBuild ? CarriedFrom::kProbe : CarriedFrom::kBuild;
    }
    auto const launch =
        make_launch<Key, 4, true>(queue, plan.radix_bits, most_units(plan.radix_bits, side.rows));
    columns.add_launch(launch.blocks);
    launch(queue, join);
  });
}

}  // namespace gpujoin::match
