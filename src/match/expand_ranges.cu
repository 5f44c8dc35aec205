// expand_ranges.cu: host side of the load-balanced expansion.
#include "src/match/expand_ranges.hpp"

#include <cub/device/device_scan.cuh>

#include <algorithm>

#include "kernels/match/expand_ranges.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;

// Pairs before those of each row; entry `rows` is the total. counts has rows + 1 entries.
base::Buffer sum_counts(base::Queue& queue, uint32_t* counts, uint32_t rows) {
  base::Pool& pool = *queue.device_pool;
  uint64_t const entries = uint64_t{rows} + 1;
  base::Buffer offsets =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, entries, "pair offsets");
  check(cudaMemsetAsync(counts + rows, 0, sizeof(uint32_t), stream_of(queue)), "ending the counts");
  size_t bytes = 0;
  auto* out = offsets.as<unsigned long long>();
  // The initial value's type makes the sum one of 64 bits.
  unsigned long long const zero = 0;
  check(cub::DeviceScan::ExclusiveScan(nullptr, bytes, counts, out, cuda::std::plus<>{}, zero,
                                       entries, stream_of(queue)),
        "sizing the sum of counts");
  base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "scan storage");
  check(cub::DeviceScan::ExclusiveScan(storage.data(), bytes, counts, out, cuda::std::plus<>{},
                                       zero, entries, stream_of(queue)),
        "summing counts");
  return offsets;
}

void expand_tiles(base::Queue& queue, const kernels::ExpandRanges& args, unsigned tiles) {
  kernels::expand_ranges_kernel<<<tiles, kernels::kMergeThreads, 0, stream_of(queue)>>>(args);
  check(cudaGetLastError(), "expanding ranges to pairs");
}

// As many tiles at a time as candidates have room for, each piece filtered before the next one.
void expand_in_pieces(base::Queue& queue, kernels::ExpandRanges args, uint64_t tiles,
                      output::GrowingPairs& pairs) {
  // Pairs before a tile are the steps before it that are no rows.
  auto const pairs_before = [&](uint64_t tile) {
    uint64_t const steps = std::min(tile * kernels::kMergeTile, args.rows + args.pairs);
    return steps - base::read_back(queue, args.splits + tile);
  };
  for (uint64_t place = 0; args.first_tile < tiles;) {
    queue.check_cancelled();
    uint64_t const left = (tiles - args.first_tile) * kernels::kMergeTile;
    uint64_t const fit = pairs.make_room_for_candidates(left) / kernels::kMergeTile;
    if (fit == 0) pairs.fail_for_room(kernels::kMergeTile);
    uint64_t const end = std::min(args.first_tile + fit, tiles);
    kernels::PairTarget const room = pairs.room();
    args.sink.build_out = room.build_out;
    args.sink.probe_out = room.probe_out;
    args.first_place = place;
    expand_tiles(queue, args, static_cast<unsigned>(end - args.first_tile));
    args.first_tile = end;
    place = pairs_before(end);
    pairs.filter_candidates(place - args.first_place);
  }
}

}  // namespace

void expand_ranges(base::Queue& queue, const uint32_t* lower, uint32_t* counts, uint32_t rows,
                   const uint32_t* build_row_ids, const uint32_t* probe_row_ids,
                   output::GrowingPairs& pairs) {
  base::Buffer const offsets = sum_counts(queue, counts, rows);
  auto const* sums = static_cast<const unsigned long long*>(offsets.data());
  uint64_t const total = base::read_back(queue, sums + rows);
  if (total == 0) return;
  if (!pairs.is_filtered() && !pairs.try_room(total)) pairs.fail_for_room(total);
  queue.check_cancelled();

  unsigned const tiles = grid_of(uint64_t{rows} + total, kernels::kMergeTile);
  base::Buffer const splits = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{tiles} + 1, "expansion splits");
  kernels::ExpandRanges args{};
  args.lower = lower;
  args.offsets = sums;
  args.rows = rows;
  args.pairs = total;
  args.splits = splits.as<uint32_t>();
  args.sink = pairs.sink();
  args.sink.build_out = pairs.room().build_out;
  args.sink.probe_out = pairs.room().probe_out;
  args.sink.build_row_ids = build_row_ids;
  args.sink.probe_row_ids = probe_row_ids;
  kernels::expand_splits_kernel<<<grid_of(uint64_t{tiles} + 1, kernels::kMergeThreads),
                                  kernels::kMergeThreads, 0, stream_of(queue)>>>(
      args, tiles, splits.as<uint32_t>());
  check(cudaGetLastError(), "splitting the expansion");
  if (pairs.is_filtered()) return expand_in_pieces(queue, args, tiles, pairs);
  expand_tiles(queue, args, tiles);
  pairs.keep(total);
}

}  // namespace gpujoin::match
