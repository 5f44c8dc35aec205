#include "src/keys/key_ranges.hpp"

#include <algorithm>

#include "kernels/keys/key_ranges.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/keys/valid_rows.hpp"

namespace gpujoin::keys {

namespace {

constexpr uint32_t kStripeRows = kernels::kStreamThreads;

kernels::RangedSide ranged_side(const KeyColumns& keys, AskedRows asked) {
  kernels::RangedSide side{};
  for (size_t c = 0; c < keys.columns.size(); ++c) side.columns[c] = keys.columns[c].data;
  side.valid = valid_rows(keys.columns);
  side.rows = static_cast<uint32_t>(keys.rows);
  side.stripes = base::grid_of(side.rows, kStripeRows);
  side.step = uint64_t{kStripeRows} << kernels::kStepBits;
  if (asked == AskedRows::kDrawn && keys.rows > kDrawnRows) {
    side.stripes = kDrawnRows / kStripeRows;
    uint64_t const last = uint64_t{side.rows - kStripeRows} << kernels::kStepBits;
    side.step = (last + side.stripes - 2) / (side.stripes - 1);
  }
  return side;
}

uint64_t tiles_of(const kernels::RangedSide& side) {
  return (side.stripes + kernels::kStreamItems - 1) / kernels::kStreamItems;
}

}  // namespace

std::vector<ColumnRange> KeyRanges::of_both() const {
  std::vector<ColumnRange> both;
  for (size_t c = 0; c < left.size(); ++c) both.push_back(united(left[c], right[c]));
  return both;
}

KeyRanges key_ranges(base::Queue& queue, const KeyColumns& left, const KeyColumns& right,
                     AskedRows asked) {
  size_t const count = left.columns.size();
  if (count == 0 || count != right.columns.size() || count > kernels::kMostKeyColumns) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "the ranges of %zu and %zu key columns", count,
               right.columns.size());
  }
  KeyRanges found;
  found.left.resize(count);
  found.right.resize(count);
  found.of_all_rows = asked == AskedRows::kAll || std::max(left.rows, right.rows) <= kDrawnRows;
  kernels::RangedKeys keys{};
  keys.sides[0] = ranged_side(left, asked);
  keys.sides[1] = ranged_side(right, asked);
  keys.count = static_cast<int32_t>(count);
  for (size_t c = 0; c < count; ++c) keys.widths[c] = left.columns[c].width;
  uint64_t const tiles = count * (tiles_of(keys.sides[0]) + tiles_of(keys.sides[1]));
  if (tiles == 0) return found;

  base::ZeroedCounts zeroed(queue, sizeof(kernels::KeyRangesState));
  auto* const state = zeroed.as<kernels::KeyRangesState>();
  auto* const answer = reinterpret_cast<kernels::KeyRangesAnswer*>(base::start_answer(queue));
  auto const resident =
      static_cast<uint64_t>(queue.context.facts.sm_count * kernels::kRangeBlocksPerSm);
  base::launch_dependent(queue, kernels::key_ranges_kernel,
                         static_cast<uint32_t>(std::min(tiles, resident)), kernels::kStreamThreads,
                         0, "finding the keys' ranges", keys, state, answer);
  zeroed.all_launched();
  base::await_answer(queue);
  kernels::KeyRanges const& ranges = answer->content;
  for (size_t c = 0; c < count; ++c) {
    found.left[c] = {ranges.lows[c], ranges.highs[c]};
    found.right[c] = {ranges.lows[count + c], ranges.highs[count + c]};
  }
  return found;
}

}  // namespace gpujoin::keys
