// place_by_slices.cu: host side of placing build rows through buckets.
#include "kernels/match/place_slices.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/place_rows.hpp"

namespace gpujoin::match {

namespace {

using base::Memory;
using base::stream_of;

template <typename Key, typename Row>
bool place(base::Queue& queue, const EmptyTable& table, bool near) {
  auto const places = static_cast<uint32_t>(table.range.places);
  kernels::PlaceSlices const slices = shared_slices_of(
      queue, table, sizeof(Row), near ? kernels::kMostNearSlices : kernels::kMostPlaceSlices);
  constexpr uint64_t kTileBytes = kernels::partition_shared_bytes<Row>();
  if (slices.count == 0 || kTileBytes + 16 * 1024 > queue.context.facts.shared_bytes_per_block)
    return false;
  uint64_t const room = uint64_t{slices.count} * slices.capacity;
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
  kernels::KeySteps<Key> const steps = {static_cast<Key>(table.range.low), table.range.shift};
  TableSide const& build = table.build;
  partition<<<base::grid_of(build.rows, kernels::kPlaceTile), kernels::kPlaceThreads, kTileBytes,
              stream_of(queue)>>>(steps, slices, static_cast<const Key*>(build.keys), build.rows,
                                  table.placed, static_cast<const unsigned char*>(table.rows),
                                  state, bucket_places.as<uint32_t>(), bucket_rows.as<Row>());
  base::check(cudaGetLastError(), "partitioning build rows by their places");
  base::launch_dependent(queue, place_slices, slices.count, kernels::kSliceThreads,
                         kernels::slice_shared_bytes(slices, sizeof(Row)),
                         "placing slices of build rows", slices, places, state,
                         bucket_places.as<const uint32_t>(), bucket_rows.as<const Row>(),
                         table.present, static_cast<Row*>(table.rows), table.has_duplicates);
  zeroed.all_launched();
  return true;
}

}  // namespace

bool place_by_slices(base::Queue& queue, const EmptyTable& table, bool near) {
  if (table.range.places > 2 * uint64_t{table.build.rows}) return false;
  return with_placed_types(table, [&](auto key, auto row) {
    return place<decltype(key), decltype(row)>(queue, table, near);
  });
}

}  // namespace gpujoin::match
