#include "src/match/place_by_slices.hpp"

#include <optional>

#include "kernels/match/place_slices.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

namespace {

using base::Memory;
using base::stream_of;

// As few as fit shared memory, and so many that all multiprocessors end together. Nullopt: too
// many.
template <typename Row>
std::optional<kernels::PlaceSlices> slices_of(const base::Queue& queue, uint32_t places) {
  constexpr uint64_t kReserved = 1024;  // of a block's shared memory, by CUDA
  uint64_t const most = queue.context.facts.shared_bytes_per_block - kReserved;
  auto const sms = static_cast<uint32_t>(queue.context.facts.sm_count);
  for (uint32_t count = sms; count <= kernels::kMostPlaceSlices; count += sms) {
    kernels::PlaceSlices const slices = kernels::place_slices(places, count);
    if (kernels::slice_shared_bytes<Row>(slices) <= most) return slices;
  }
  return std::nullopt;
}

template <typename Key, typename Row>
bool place(base::Queue& queue, const transform::KeyPlaces& range, const TableSide& build,
           const kernels::PlacedColumns& placed, void* rows, uint32_t* present,
           uint32_t* has_duplicates) {
  auto const places = static_cast<uint32_t>(range.places);
  auto const slices = slices_of<Row>(queue, places);
  constexpr uint64_t kTileBytes = kernels::partition_shared_bytes<Row>();
  if (!slices || kTileBytes + 16 * 1024 > queue.context.facts.shared_bytes_per_block) return false;
  uint64_t const room = uint64_t{slices->count} * slices->capacity;
  base::Buffer bucket_places =
      queue.device_pool->try_allocate(Memory::kDevice, base::checked_bytes(room, sizeof(uint32_t)));
  base::Buffer bucket_rows =
      queue.device_pool->try_allocate(Memory::kDevice, base::checked_bytes(room, sizeof(Row)));
  if (!bucket_places || !bucket_rows) return false;

  auto const partition = kernels::partition_places_kernel<Key, Row>;
  auto const place_slices = kernels::place_slices_kernel<Row>;
  base::allow_shared(queue, partition, "asking for the shared memory of a tile of places");
  base::allow_shared(queue, place_slices, "asking for the shared memory of a slice of places");
  base::ZeroedCounts zeroed(queue, sizeof(kernels::PlaceSlicesState));
  auto* const state = zeroed.as<kernels::PlaceSlicesState>();
  kernels::KeySteps<Key> const steps = {static_cast<Key>(range.low), range.shift};
  partition<<<base::grid_of(build.rows, kernels::kPlaceTile), kernels::kPlaceThreads, kTileBytes,
              stream_of(queue)>>>(steps, *slices, static_cast<const Key*>(build.keys), build.rows,
                                  placed, static_cast<const unsigned char*>(rows), state,
                                  bucket_places.as<uint32_t>(), bucket_rows.as<Row>());
  base::check(cudaGetLastError(), "partitioning build rows by their places");
  base::launch_dependent(queue, place_slices, slices->count, kernels::kSliceThreads,
                         kernels::slice_shared_bytes<Row>(*slices), "placing slices of build rows",
                         *slices, places, state, bucket_places.as<const uint32_t>(),
                         bucket_rows.as<const Row>(), present, static_cast<Row*>(rows),
                         has_duplicates);
  zeroed.all_launched();
  return true;
}

}  // namespace

bool place_by_slices(base::Queue& queue, const transform::KeyPlaces& range, int32_t key_width,
                     const TableSide& build, const kernels::PlacedColumns& placed, void* rows,
                     uint32_t* present, uint32_t* has_duplicates) {
  bool const are_apart = placed.row_width == 0 && placed.count != 1;
  // Fewer places than rows: keys repeat, and there may be fewer words than slices.
  bool const is_dense = build.rows <= range.places && range.places <= 2 * uint64_t{build.rows};
  if (build.rows < kernels::kLeastPlacedBySlices || !is_dense || are_apart) return false;
  int32_t const width = placed.row_width != 0 ? placed.row_width : placed.columns[0].width;
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    auto const with = width == 4    ? place<Key, uint32_t>
                      : width == 8  ? place<Key, uint2>
                      : width == 16 ? place<Key, uint4>
                                    : nullptr;
    return with != nullptr && with(queue, range, build, placed, rows, present, has_duplicates);
  });
}

}  // namespace gpujoin::match
