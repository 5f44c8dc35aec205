// gather_bytes.cu: host side of gathers of values that have any number of bytes.
#include "kernels/materialize/gather_bytes.cuh"

#include <algorithm>
#include <utility>

#include "kernels/materialize/text_bytes.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"
#include "src/output/exclusive_sum.hpp"

namespace gpujoin::materialize {

using base::check;
using base::Memory;
using base::stream_of;
using kernels::BytesLayout;

namespace {

// What the kernels count beside what they write.
kernels::GatherTotals* start_totals(base::Queue& queue) {
  auto* const totals = queue.device->counters.as<kernels::GatherTotals>();
  check(cudaMemsetAsync(totals, 0, sizeof(kernels::GatherTotals), stream_of(queue)),
        "starting the totals of a gather");
  return totals;
}

// Rows without validity bits of their own are NULL where they are missing.
base::Buffer make_validity(base::Queue& queue, const columns::GatherSource& source,
                           kernels::RowsToGather* rows) {
  rows->validity = source.validity;
  if (rows->rows == nullptr && source.validity.bits == nullptr) return {};
  base::Buffer validity = queue.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, (rows->count + 31) / 32, "validity of an output column");
  rows->target_validity = validity.as<uint32_t>();
  return validity;
}

void take_validity(base::Buffer validity, uint64_t null_count, columns::Gathered* gathered) {
  gathered->null_count = static_cast<int64_t>(null_count);
  if (null_count != 0) gathered->validity = columns::make_storage(std::move(validity));
}

columns::Gathered gather_fixed(base::Queue& queue, const columns::GatherSource& source,
                               const uint32_t* rows, uint64_t count) {
  columns::Gathered gathered;
  if (count == 0) return gathered;
  auto const width = static_cast<uint64_t>(source.values.width);
  gathered.bytes = base::checked_bytes(count, width);
  base::Buffer target =
      queue.device_pool->allocate(Memory::kDevice, gathered.bytes, "an output column");
  kernels::FixedToGather args{};
  args.rows.rows = rows;
  args.rows.count = count;
  base::Buffer validity = make_validity(queue, source, &args.rows);
  kernels::GatherTotals* const totals = start_totals(queue);
  args.rows.null_count = &totals->null_count;
  args.source = source.values.bytes;
  args.width = width;
  args.readable = {source.values.first, source.values.end};
  args.target = target.as<uint8_t>();
  uint64_t const tiles = (count + kernels::kStreamTile - 1) / kernels::kStreamTile;
  uint64_t const tile_bytes = std::min<uint64_t>(count, kernels::kStreamTile) * width;
  args.units_per_tile = base::grid_of(std::max<uint64_t>(tile_bytes, 1), kernels::kUnitBytes);
  kernels::gather_fixed_kernel<<<base::grid_of(tiles * args.units_per_tile, 1),
                                 kernels::kStreamThreads, 0, stream_of(queue)>>>(args);
  check(cudaGetLastError(), "gathering wide values");
  if (gathered.bytes != 0) gathered.data = columns::make_storage(std::move(target));
  if (validity) {
    take_validity(std::move(validity), base::read_back(queue, totals).null_count, &gathered);
  }
  return gathered;
}

// Values that find_bytes has found.
template <typename Place>
struct FoundBytes {
  base::Buffer places;
  base::Buffer lengths;
  base::Buffer tile_starts;
  base::Buffer unit_starts;
  uint64_t tiles = 0;
  uint64_t units = 0;
};

template <typename Place, typename Offset>
void copy_bytes(base::Queue& queue, const kernels::BytesColumn& values,
                const FoundBytes<Place>& found, uint64_t count, columns::Gathered* gathered) {
  base::Pool& pool = *queue.device_pool;
  base::Buffer offsets = pool.allocate_rows<Offset>(
      Memory::kDevice, base::checked_bytes(count, 1) + 1, "offsets of an output column");
  base::Buffer target =
      pool.allocate(Memory::kDevice, base::checked_bytes(gathered->bytes, 1), "an output column");
  kernels::BytesToCopy<Place, Offset> args{};
  args.places = found.places.template as<Place>();
  args.lengths = found.lengths.template as<Place>();
  args.count = count;
  args.tiles = found.tiles;
  args.tile_starts = found.tile_starts.template as<unsigned long long>();
  if (found.units != found.tiles) {
    output::exclusive_sum(queue, found.unit_starts.template as<unsigned long long>(), found.tiles);
    args.unit_starts = found.unit_starts.template as<unsigned long long>();
  }
  if (values.layout != BytesLayout::kViews) {
    args.origin = reinterpret_cast<uintptr_t>(values.bytes);
    args.readable = {values.first, values.end};
  }
  args.offsets = offsets.as<Offset>();
  args.target = target.as<uint8_t>();
  kernels::gather_bytes_kernel<Place, Offset>
      <<<base::grid_of(found.units, 1), kernels::kStreamThreads, 0, stream_of(queue)>>>(args);
  check(cudaGetLastError(), "gathering values of any length");
  gathered->offsets = columns::make_storage(std::move(offsets));
  gathered->offset_width = static_cast<int32_t>(sizeof(Offset));
  if (gathered->bytes != 0) gathered->data = columns::make_storage(std::move(target));
}

template <BytesLayout kLayout>
columns::Gathered gather_lengths(base::Queue& queue, const columns::GatherSource& source,
                                 const uint32_t* rows, uint64_t count) {
  using Place = typename kernels::PlaceOf<kLayout>::Type;
  base::Pool& pool = *queue.device_pool;
  // The last has a row `count`, whose offset is the end of all.
  FoundBytes<Place> found;
  found.tiles = count / kernels::kStreamTile + 1;
  uint64_t const padded = found.tiles * kernels::kStreamTile;
  found.places = pool.allocate_rows<Place>(Memory::kDevice, padded, "places of values");
  found.lengths = pool.allocate_rows<Place>(Memory::kDevice, padded, "lengths of values");
  found.tile_starts = pool.allocate_rows<unsigned long long>(Memory::kDevice, found.tiles,
                                                             "bytes of tiles of values");
  found.unit_starts = pool.allocate_rows<unsigned long long>(Memory::kDevice, found.tiles,
                                                             "units of tiles of values");
  kernels::BytesToFind<Place> args{};
  args.rows.rows = rows;
  args.rows.count = count;
  base::Buffer validity = make_validity(queue, source, &args.rows);
  args.totals = start_totals(queue);
  args.rows.null_count = &args.totals->null_count;
  args.values = source.values;
  args.places = found.places.template as<Place>();
  args.lengths = found.lengths.template as<Place>();
  args.tile_bytes = found.tile_starts.template as<unsigned long long>();
  args.tile_units = found.unit_starts.template as<unsigned long long>();
  kernels::find_bytes_kernel<kLayout>
      <<<base::grid_of(found.tiles, 1), kernels::kStreamThreads, 0, stream_of(queue)>>>(args);
  check(cudaGetLastError(), "finding values of any length");
  output::exclusive_sum(queue, args.tile_bytes, found.tiles);
  kernels::GatherTotals const totals = base::read_back(queue, args.totals);

  columns::Gathered gathered;
  gathered.bytes = totals.bytes;
  found.units = totals.units;
  take_validity(std::move(validity), totals.null_count, &gathered);
  bool const is_wide =
      kLayout == BytesLayout::kOffsets64 || totals.bytes > source.most_narrow_bytes;
  if (is_wide) {
    copy_bytes<Place, int64_t>(queue, source.values, found, count, &gathered);
  } else {
    copy_bytes<Place, int32_t>(queue, source.values, found, count, &gathered);
  }
  return gathered;
}

}  // namespace

columns::Gathered gather_bytes(base::Queue& queue, const columns::GatherSource& source,
                               const uint32_t* rows, uint64_t count) {
  switch (source.values.layout) {
    case BytesLayout::kOffsets32:
      return gather_lengths<BytesLayout::kOffsets32>(queue, source, rows, count);
    case BytesLayout::kOffsets64:
      return gather_lengths<BytesLayout::kOffsets64>(queue, source, rows, count);
    case BytesLayout::kViews:
      return gather_lengths<BytesLayout::kViews>(queue, source, rows, count);
    default:
      return gather_fixed(queue, source, rows, count);
  }
}

uint64_t text_bytes(base::Queue& queue, const columns::GatherSource& source, const uint32_t* rows,
                    uint64_t count) {
  if (count == 0) return 0;
  kernels::RowsToGather wanted{};
  wanted.rows = rows;
  wanted.count = count;
  wanted.validity = source.validity;
  auto* const bytes = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(bytes, 0, sizeof(*bytes), stream_of(queue)), "starting a sum of text");
  auto const kernel = source.values.layout == BytesLayout::kOffsets64
                          ? kernels::text_bytes_kernel<BytesLayout::kOffsets64>
                          : kernels::text_bytes_kernel<BytesLayout::kOffsets32>;
  kernel<<<base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads, 0,
           stream_of(queue)>>>(wanted, source.values, bytes);
  check(cudaGetLastError(), "summing up text");
  return base::read_back(queue, static_cast<const unsigned long long*>(bytes));
}

}  // namespace gpujoin::materialize
