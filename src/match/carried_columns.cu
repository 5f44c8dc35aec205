// carried_columns.cu: host side of the join of partitions that writes output columns.
#include "src/match/carried_columns.hpp"

#include <algorithm>

#include "kernels/match/carried_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/unit_sums.cuh"

namespace gpujoin::match {

namespace {

using base::check;
using base::stream_of;

kernels::PartitionView view_of(const CarriedSide& side) {
  kernels::PartitionView view{};
  view.offsets = side.offsets;
  return view;
}

template <typename Key>
struct Launch {
  void (*kernel)(kernels::CarriedJoin<Key>);
  uint32_t blocks;
};

template <typename Key, int kWidth>
Launch<Key> make_launch(const base::Context& context, bool deals, uint64_t likely_units) {
  auto const kernel = deals ? kernels::carried_columns_kernel<Key, kWidth, true>
                            : kernels::carried_columns_kernel<Key, kWidth, false>;
  uint32_t const resident = base::resident_blocks(
      context, kernel, kernels::kCarriedThreads, sizeof(kernels::CarriedShared<Key>),
      "asking for shared memory of the join of partitions");
  return {kernel, static_cast<uint32_t>(std::min<uint64_t>(resident, likely_units))};
}

template <typename Key, int kWidth>
CarriedRows join(base::Context& context, const plan::JoinPlan& plan, const CarriedSide& build,
                 const CarriedSide& probe, const std::vector<CarriedOutput>& outputs) {
  uint32_t const partitions = 1U << plan.radix_bits;
  base::Buffer const unit_ends =
      sum_units(context, view_of(build), view_of(probe), partitions, kernels::CarriedUnits{});

  uint64_t const likely_units = partitions + uint64_t{probe.rows} / kernels::kCarriedProbeRows +
                                uint64_t{build.rows} / kernels::kCarriedBuildRows;
  // With as many matches a row rounds that write one of each are slower than dealing them: a lane that has none left waits for the
  // others. H200, 72M x 72M rows, 12.5 matches a row: 9 ms in rounds, 10.9 dealt; one key with 1e6 rows met by 100: 24 and 8.
  constexpr uint64_t kDealtMatches = 32;
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  auto launch =
      make_launch<Key, kWidth>(context, expected / kDealtMatches > probe.rows, likely_units);

  kernels::CarriedJoin<Key> args{};
  args.build_keys = static_cast<const Key*>(build.keys);
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.build_offsets = build.offsets;
  args.probe_offsets = probe.offsets;
  args.radix_bits = plan.radix_bits;
  args.partitions = partitions;
  args.unit_ends = unit_ends.as<unsigned long long>();
  ChunkedColumns columns(context, outputs);
  columns.expect(expected, launch.blocks);
  for (;;) {
    context.check_cancelled();
    columns.start(&args);
    launch.kernel<<<launch.blocks, kernels::kCarriedThreads, sizeof(kernels::CarriedShared<Key>),
                    stream_of(context)>>>(args);
    check(cudaGetLastError(), "joining partitions");
    if (columns.collect()) return columns.finish();
    // Rows that were not expected are most likely those of a few keys.
    launch =
        make_launch<Key, kWidth>(context, columns.rows() > 2 * uint64_t{probe.rows}, likely_units);
    columns.require(launch.blocks);
  }
}

}  // namespace

CarriedRows carried_columns(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs) {
  if (build.rows == 0 || probe.rows == 0) return {};
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    switch (common_width(outputs)) {
      case 4:
        return join<Key, 4>(context, plan, build, probe, outputs);
      case 8:
        return join<Key, 8>(context, plan, build, probe, outputs);
      default:
        return join<Key, 0>(context, plan, build, probe, outputs);
    }
  });
}

}  // namespace gpujoin::match
