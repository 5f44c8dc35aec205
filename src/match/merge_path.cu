// merge_path.cu: host side of the sort-merge join's match: bounds, sum, one exact allocation, expansion.
#include <cub/device/device_scan.cuh>

#include "kernels/match/expand_ranges.cuh"
#include "kernels/match/merge_bounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/match.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;

template <typename Key, bool kUpper>
void find_bounds(base::Context& context, const MatchSide& build, const MatchSide& probe,
                 uint32_t* lower, uint32_t* counts) {
  auto const* build_keys = static_cast<const Key*>(build.keys);
  auto const* probe_keys = static_cast<const Key*>(probe.keys);
  unsigned const tiles = grid_of(uint64_t{build.rows} + probe.rows, kernels::kMergeTile);
  base::Buffer const splits = context.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{tiles} + 1, "merge path splits");
  kernels::merge_splits_kernel<Key, kUpper><<<grid_of(uint64_t{tiles} + 1, kernels::kMergeThreads),
                                              kernels::kMergeThreads, 0, stream_of(context)>>>(
      build_keys, build.rows, probe_keys, probe.rows, tiles, splits.as<uint32_t>());
  check(cudaGetLastError(), "splitting the merge path");
  kernels::merge_bounds_kernel<Key, kUpper>
      <<<tiles, kernels::kMergeThreads, 0, stream_of(context)>>>(
          build_keys, build.rows, probe_keys, probe.rows, splits.as<uint32_t>(), lower, counts);
  check(cudaGetLastError(), "finding bounds by merge path");
}

// Pairs before those of each row; entry `rows` is the total. counts has rows + 1 entries.
base::Buffer sum_counts(base::Context& context, uint32_t* counts, uint32_t rows) {
  base::Pool& pool = *context.device_pool;
  uint64_t const entries = uint64_t{rows} + 1;
  base::Buffer offsets =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, entries, "pair offsets");
  check(cudaMemsetAsync(counts + rows, 0, sizeof(uint32_t), stream_of(context)),
        "ending the counts");
  size_t bytes = 0;
  auto* out = offsets.as<unsigned long long>();
  // The initial value's type makes the sum one of 64 bits.
  unsigned long long const zero = 0;
  check(cub::DeviceScan::ExclusiveScan(nullptr, bytes, counts, out, cuda::std::plus<>{}, zero,
                                       entries, stream_of(context)),
        "sizing the sum of counts");
  base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "scan storage");
  check(cub::DeviceScan::ExclusiveScan(storage.data(), bytes, counts, out, cuda::std::plus<>{},
                                       zero, entries, stream_of(context)),
        "summing counts");
  return offsets;
}

void expand(base::Context& context, kernels::ExpandRanges args) {
  uint64_t const all = uint64_t{args.rows} + args.pairs;
  unsigned const tiles = grid_of(all, kernels::kMergeTile);
  base::Buffer const splits = context.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{tiles} + 1, "expansion splits");
  args.splits = splits.as<uint32_t>();
  kernels::expand_splits_kernel<<<grid_of(uint64_t{tiles} + 1, kernels::kMergeThreads),
                                  kernels::kMergeThreads, 0, stream_of(context)>>>(
      args, tiles, splits.as<uint32_t>());
  check(cudaGetLastError(), "splitting the expansion");
  kernels::expand_ranges_kernel<<<tiles, kernels::kMergeThreads, 0, stream_of(context)>>>(args);
  check(cudaGetLastError(), "expanding ranges to pairs");
}

template <typename Key>
void run(base::Context& context, const MatchSide& build, const MatchSide& probe,
         output::GrowingPairs& pairs) {
  base::Pool& pool = *context.device_pool;
  base::Buffer const lower =
      pool.allocate_rows<uint32_t>(Memory::kDevice, probe.rows, "lower bounds");
  base::Buffer counts =
      pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{probe.rows} + 1, "match counts");
  find_bounds<Key, false>(context, build, probe, lower.as<uint32_t>(), nullptr);
  find_bounds<Key, true>(context, build, probe, lower.as<uint32_t>(), counts.as<uint32_t>());
  base::Buffer const offsets = sum_counts(context, counts.as<uint32_t>(), probe.rows);
  uint64_t const total = base::read_back(
      context,
      static_cast<const unsigned long long*>(offsets.as<unsigned long long>()) + probe.rows);
  counts = {};
  pairs.make_room(total);
  if (total == 0) return;

  kernels::ExpandRanges args{};
  args.lower = lower.as<uint32_t>();
  args.offsets = offsets.as<unsigned long long>();
  args.rows = probe.rows;
  args.pairs = total;
  args.sink = pairs.sink();
  args.sink.build_row_ids = build.row_ids;
  args.sink.probe_row_ids = probe.row_ids;
  context.check_cancelled();
  expand(context, args);
}

}  // namespace

void merge_path(base::Context& context, int32_t key_width, const MatchSide& build,
                const MatchSide& probe, output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::with_key_type(key_width,
                      [&](auto zero) { run<decltype(zero)>(context, build, probe, pairs); });
}

}  // namespace gpujoin::match
