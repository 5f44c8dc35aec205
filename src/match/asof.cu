// asof.cu: host side of ASOF joins: keys, the merge, pairs of what it found.
#include "src/match/asof.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "gpujoin.h"
#include "kernels/match/asof_keys.cuh"
#include "kernels/match/asof_match.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;

kernels::AsofColumns of_device(const AsofColumns& columns) {
  return {columns.places,      columns.turned, columns.groups,
          columns.group_width, columns.rows,   columns.count};
}

template <typename... Parameters, typename... Args>
void launch_over(base::Queue& queue, const AsofColumns& columns, void (*kernel)(Parameters...),
                 Args... args) {
  if (columns.count == 0) return;
  base::launch_dependent(queue, kernel, grid_of(columns.count, kernels::kStreamTile),
                         kernels::kStreamThreads, 0, "making keys of an ASOF join",
                         of_device(columns), args...);
}

template <kernels::Bound kBound, typename Key>
void merge(base::Queue& queue, const SortedSide& left, const SortedSide& right,
           const kernels::AsofRule& rule, uint32_t* found, unsigned long long* matches) {
  kernels::MergeSides<Key> const sides{static_cast<const Key*>(right.keys),
                                       static_cast<const Key*>(left.keys), right.count, left.count};
  unsigned const tiles = grid_of(uint64_t{left.count} + right.count, kernels::kMergeTile);
  base::Buffer const splits = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{tiles} + 1, "merge path splits");
  kernels::merge_splits_kernel<kBound, Key>
      <<<grid_of(uint64_t{tiles} + 1, kernels::kMergeThreads), kernels::kMergeThreads, 0,
         stream_of(queue)>>>(sides, tiles, splits.as<uint32_t>());
  check(cudaGetLastError(), "splitting the merge of an ASOF join");
  kernels::asof_match_kernel<kBound, Key><<<tiles, kernels::kMergeThreads, 0, stream_of(queue)>>>(
      sides, right.rows, rule, splits.as<uint32_t>(), found, matches);
  check(cudaGetLastError(), "merging the sides of an ASOF join");
}

// Of a left row and what was found for it.
struct HasMatch {
  __device__ bool operator()(const thrust::tuple<uint32_t, uint32_t>& pair) const {
    return thrust::get<1>(pair) != GPUJOIN_NO_ROW;
  }
};

// rows: an iterator over left row numbers. One selection for both columns: by one each, what was
// found is read twice.
template <typename Rows>
void select_pairs(base::Queue& queue, Rows rows, const uint32_t* found, uint32_t count,
                  const AsofPairs& pairs) {
  auto const in = thrust::make_zip_iterator(rows, found);
  auto const out = thrust::make_zip_iterator(pairs.left.as<uint32_t>(), pairs.right.as<uint32_t>());
  auto* const selected = queue.device->counters.as<uint32_t>();
  size_t bytes = 0;
  auto const select = [&](void* storage) {
    return cub::DeviceSelect::If(storage, bytes, in, out, selected, count, HasMatch(),
                                 stream_of(queue));
  };
  check(select(nullptr), "sizing the selection of matches");
  base::Buffer const storage =
      queue.device_pool->allocate(Memory::kDevice, bytes, "selection storage");
  check(select(storage.data()), "selecting matches");
}

}  // namespace

AsofFacts look(base::Queue& queue, const AsofColumns& columns) {
  if (columns.count == 0) return {};
  auto* const noted = queue.device->counters.as<kernels::AsofLook>();
  check(cudaMemsetAsync(noted, 0, sizeof(*noted), stream_of(queue)), "starting a look at places");
  base::launch_dependent(
      queue, kernels::asof_look_kernel,
      base::grid_of(queue, columns.count, kernels::kStreamTile, kernels::kRangeBlocksPerSm),
      kernels::kStreamThreads, 0, "looking at the order of rows", of_device(columns), noted);
  kernels::AsofLook const seen = base::read_back(queue, noted);
  AsofFacts facts;
  facts.low_place = ~uint64_t{seen.inverted_low_place};
  facts.high_place = seen.high_place;
  facts.low_group = ~uint64_t{seen.inverted_low_group};
  facts.high_group = seen.high_group;
  facts.is_sorted = seen.descents == 0;
  facts.is_sorted_by_place = seen.descents_of_place == 0;
  return facts;
}

void make_asof_keys(base::Queue& queue, const AsofColumns& columns, uint64_t low_group,
                    uint64_t least, int32_t place_bits, uint64_t* keys) {
  launch_over(queue, columns, kernels::asof_keys_kernel, low_group, least, place_bits, keys);
}
void make_asof_groups(base::Queue& queue, const AsofColumns& columns, uint64_t low_group,
                      uint64_t* groups) {
  launch_over(queue, columns, kernels::asof_groups_kernel, low_group, groups);
}
void make_asof_keys(base::Queue& queue, const AsofColumns& columns, kernels::WideKey* keys) {
  launch_over(queue, columns, kernels::asof_wide_keys_kernel, keys);
}

uint64_t match_asof(base::Queue& queue, AsofKeys keys, const SortedSide& left,
                    const SortedSide& right, const kernels::AsofRule& rule, uint32_t* found) {
  static_assert(kernels::kNoRow == GPUJOIN_NO_ROW);
  if (left.count == 0 || right.count == 0) return 0;
  auto* const matches = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(matches, 0, sizeof(*matches), stream_of(queue)), "starting a count");
  auto const merge_of = [&](auto zero) {
    using Key = decltype(zero);
    auto const merge_by = kernels::belongs_behind_equals(rule) ? merge<kernels::Bound::kUpper, Key>
                                                               : merge<kernels::Bound::kLower, Key>;
    merge_by(queue, left, right, rule, found, matches);
  };
  if (keys == AsofKeys::kSigned) merge_of(int64_t{});
  if (keys == AsofKeys::kUnsigned) merge_of(uint64_t{});
  if (keys == AsofKeys::kWide) merge_of(kernels::WideKey{});
  return base::read_back(queue, matches);
}

AsofPairs asof_pairs(base::Queue& queue, const SortedSide& left, const uint32_t* found,
                     uint64_t matches) {
  base::Pool& pool = *queue.device_pool;
  AsofPairs pairs;
  pairs.left = pool.allocate_rows<uint32_t>(Memory::kDevice, matches, "left row numbers");
  pairs.right = pool.allocate_rows<uint32_t>(Memory::kDevice, matches, "right row numbers");
  if (matches == 0) return pairs;
  if (left.rows != nullptr) {
    select_pairs(queue, left.rows, found, left.count, pairs);
  } else {
    select_pairs(queue, thrust::counting_iterator<uint32_t>(0), found, left.count, pairs);
  }
  return pairs;
}

}  // namespace gpujoin::match
