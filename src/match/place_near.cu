// place_near.cu: host side of placing build rows from where they lie.
#include <cstddef>

#include "kernels/match/place_near.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/place_rows.hpp"

namespace gpujoin::match {

namespace {

using base::stream_of;
using kernels::PlaceNearState;

// Tiles that a slice's block looks at for those that reach it: on average few where rows lie in one
// order, many where halves of the rows each do.
constexpr uint64_t kMostLookedAt = 64;

// Whether few tiles are read, and few looked at for it. Waits for the stream.
bool are_near(base::Queue& queue, const PlaceNearState* state, uint32_t tiles, uint32_t slices) {
  auto const visits = base::read_back(queue, &state->visits);
  if (visits > uint64_t{kernels::kMostNearVisits} * tiles) return false;
  static_assert(sizeof(PlaceNearState::inverted_first) + sizeof(PlaceNearState::end) <=
                base::kReadbackBytes);
  static_assert(offsetof(PlaceNearState, end) ==
                offsetof(PlaceNearState, inverted_first) + sizeof(PlaceNearState::inverted_first));
  auto const* const inverted_first = static_cast<const uint32_t*>(
      base::read_back(queue, state->inverted_first,
                      sizeof(PlaceNearState::inverted_first) + sizeof(PlaceNearState::end)));
  auto const* const end = inverted_first + kernels::kMostNearSlices;
  uint64_t looked_at = 0;
  for (uint32_t slice = 0; slice < slices; ++slice) {
    if (end[slice] != 0) looked_at += end[slice] - ~inverted_first[slice];
  }
  return looked_at <= kMostLookedAt * slices;
}

template <typename Key, typename Row>
bool place(base::Queue& queue, const EmptyTable& table) {
  auto const places = static_cast<uint32_t>(table.range.places);
  kernels::PlaceSlices const slices =
      shared_slices_of(queue, table, sizeof(Row), kernels::kMostNearSlices);
  if (slices.count == 0) return false;
  TableSide const& build = table.build;
  auto const* const keys = static_cast<const Key*>(build.keys);
  uint32_t const tiles = base::grid_of(build.rows, kernels::kNearTile);
  base::Buffer const of_tiles = queue.device_pool->try_allocate(
      base::Memory::kDevice, base::checked_bytes(tiles, sizeof(kernels::TilePlaces)));
  if (!of_tiles) return false;

  base::ZeroedCounts zeroed(queue, sizeof(PlaceNearState));
  auto* const state = zeroed.as<PlaceNearState>();
  kernels::KeySteps<Key> const steps = {static_cast<Key>(table.range.low), table.range.shift};
  kernels::list_tiles_kernel<Key><<<base::grid_of(tiles, kernels::kStreamThreads),
                                    kernels::kStreamThreads, 0, stream_of(queue)>>>(
      steps, slices, static_cast<const kernels::TileRange<Key>*>(build.tile_ranges), tiles,
      of_tiles.as<kernels::TilePlaces>(), state);
  base::check(cudaGetLastError(), "finding the places of tiles of build rows");
  if (!are_near(queue, state, tiles, slices.count)) return false;
  auto const kernel = kernels::place_near_kernel<Key, Row>;
  base::allow_shared(queue, kernel, "asking for the shared memory of a slice of places");
  kernel<<<slices.count, kernels::kNearThreads, kernels::slice_shared_bytes(slices, sizeof(Row)),
           stream_of(queue)>>>(steps, slices, places, keys, build.rows, table.placed,
                               static_cast<const unsigned char*>(table.rows),
                               of_tiles.as<const kernels::TilePlaces>(), state, table.present,
                               static_cast<Row*>(table.rows), table.has_duplicates);
  base::check(cudaGetLastError(), "placing build rows from where they lie");
  zeroed.all_launched();
  return true;
}

}  // namespace

bool place_near(base::Queue& queue, const EmptyTable& table) {
  if (table.build.tile_ranges == nullptr) return false;
  return with_placed_types(
      table, [&](auto key, auto row) { return place<decltype(key), decltype(row)>(queue, table); });
}

}  // namespace gpujoin::match
