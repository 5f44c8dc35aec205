// place_near.cu: host side of placing build rows from where they lie.
#include <algorithm>
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

// Which column each word of a place is of.
template <typename Row>
kernels::PlacedWords<Row> words_of(const EmptyTable& table) {
  kernels::PlacedWords<Row> placed = {};
  placed.are_aligned = base::starts_a_vector(table.build.keys);
  for (int32_t i = 0; i < table.placed.count; ++i) {
    kernels::PlacedColumn const& column = table.placed.columns[i];
    auto const within =
        static_cast<const unsigned char*>(column.target) - static_cast<unsigned char*>(table.rows);
    placed.words[within / 4] = {column.source, column.width};
    placed.are_aligned = placed.are_aligned && base::starts_a_vector(column.source);
  }
  return placed;
}

bool are_fours(const kernels::PlacedColumns& columns) {
  return std::all_of(columns.columns, columns.columns + columns.count,
                     [](kernels::PlacedColumn const& column) { return column.width == 4; });
}

// Whose words are of several columns.
bool has_narrow(const kernels::PlacedColumns& columns) {
  return std::any_of(columns.columns, columns.columns + columns.count,
                     [](kernels::PlacedColumn const& column) { return column.width < 4; });
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
  auto kernel = kernels::place_near_kernel<Key, Row, sizeof(Row) == 4>;
  if (are_fours(table.placed)) kernel = kernels::place_near_kernel<Key, Row, true>;
  base::allow_shared(queue, kernel, "asking for the shared memory of a slice of places");
  kernel<<<slices.count, kernels::kNearThreads, kernels::slice_shared_bytes(slices, sizeof(Row)),
           stream_of(queue)>>>(steps, slices, places, keys, build.rows, words_of<Row>(table),
                               of_tiles.as<const kernels::TilePlaces>(), state, table.present,
                               static_cast<Row*>(table.rows), table.has_duplicates);
  base::check(cudaGetLastError(), "placing build rows from where they lie");
  zeroed.all_launched();
  return true;
}

}  // namespace

bool place_near(base::Queue& queue, const EmptyTable& table) {
  if (table.build.tile_ranges == nullptr || has_narrow(table.placed)) return false;
  return with_placed_types(
      table, [&](auto key, auto row) { return place<decltype(key), decltype(row)>(queue, table); });
}

}  // namespace gpujoin::match
