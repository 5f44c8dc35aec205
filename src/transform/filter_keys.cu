#include "src/transform/filter_keys.hpp"

#include <algorithm>
#include <bit>

#include "kernels/transform/filter_rows.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::transform {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

// Kept rows of one side, until they are known to be fewer than all.
struct Kept {
  base::Buffer keys;
  base::Buffer rows;
};

template <kernels::FilterMode kMode, typename Filter>
Kept filter_side(base::Queue& queue, const Filter& filter, const PreparedKeys& side, bool keeps,
                 unsigned long long* count) {
  using Key = typename Filter::Key;
  Kept kept;
  if (keeps) {
    kept.keys = queue.device_pool->allocate_rows<Key>(Memory::kDevice, side.rows, "kept keys");
    kept.rows = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, side.rows, "kept rows");
  }
  kernels::filter_rows_kernel<Filter, kMode><<<base::grid_of(side.rows, kernels::kFilterTile),
                                               kernels::kFilterThreads, 0, stream_of(queue)>>>(
      filter, static_cast<const Key*>(side.keys), side.source_rows, side.present, side.rows,
      kept.keys.as<Key>(), kept.rows.as<uint32_t>(), count);
  check(cudaGetLastError(), "leaving out rows without a match");
  return kept;
}

void take_over(Kept kept, uint64_t rows, PreparedKeys* side) {
  side->rows = static_cast<uint32_t>(rows);
  side->keys = kept.keys.data();
  side->source_rows = kept.rows.as<uint32_t>();
  side->present = {};
  side->keys_copy = std::move(kept.keys);
  side->source_rows_copy = std::move(kept.rows);
}

// One side sets bits, the other is asked for them. keeps_all: a build row that sets its bit may
// match, all of them have one.
template <typename Filter>
void leave_out(base::Queue& queue, Filtered filtered, bool keeps_all, const Filter& filter,
               PreparedKeys* build, PreparedKeys* probe) {
  using Mode = kernels::FilterMode;
  auto* const counts = queue.device->counters.as<unsigned long long>();
  check(cudaMemsetAsync(filter.bits, 0, (filter.places / 32 + 1) * sizeof(uint32_t),
                        stream_of(queue)),
        "clearing bits of keys");
  check(cudaMemsetAsync(counts, 0, 2 * sizeof(*counts), stream_of(queue)), "clearing counts");
  if (filtered == Filtered::kBuild) {
    filter_side<Mode::kMarkOnce>(queue, filter, *probe, false, &counts[1]);
    Kept kept = filter_side<Mode::kTest>(queue, filter, *build, true, &counts[0]);
    uint64_t const rows =
        base::read_back(queue, static_cast<const unsigned long long*>(&counts[0]));
    if (rows != build->rows) take_over(std::move(kept), rows, build);
    return;
  }
  Kept of_build = filter_side<Mode::kMark>(queue, filter, *build, !keeps_all, &counts[0]);
  Kept of_probe = filter_side<Mode::kTest>(queue, filter, *probe, true, &counts[1]);
  auto const* const found =
      static_cast<const unsigned long long*>(base::read_back(queue, counts, 2 * sizeof(*counts)));
  uint64_t const kept[] = {found[0], found[1]};
  if (!keeps_all) take_over(std::move(of_build), kept[0], build);
  if (kept[1] != probe->rows) take_over(std::move(of_probe), kept[1], probe);
}

base::Buffer allocate_bits(base::Queue& queue, uint64_t places) {
  return queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, places / 32 + 1,
                                                    "bits of keys");
}

}  // namespace

bool filter_by_bits(base::Queue& queue, Filtered filtered, PreparedKeys* build,
                    PreparedKeys* probe) {
  if (build->rows == 0 || probe->rows == 0) return true;
  kernels::KeyRange const of_build = key_range(queue, build->keys, build->key_width, build->rows);
  kernels::KeyRange const of_probe = key_range(queue, probe->keys, probe->key_width, probe->rows);
  kernels::KeyRange common = of_build;
  common.low = std::max(of_build.low, of_probe.low);
  common.high = std::min(of_build.high, of_probe.high);
  if (common.low > common.high) {
    build->rows = probe->rows = 0;
    return true;
  }
  KeyPlaces places = places_of(of_build, build->key_width);
  // Places begin at the build side's lowest key, so that its steps are met.
  uint64_t const step = uint64_t{1} << places.shift;
  uint64_t const skipped = (common.low - of_build.low + step - 1) / step;
  uint64_t const first = of_build.low + skipped * step;
  // No key of the build side's steps may lie in the range. Steps are compared: of all keys of 8
  // bytes there is one more than a number.
  bool const any = first <= common.high;
  uint64_t const last = any ? (common.high - first) >> places.shift : 0;
  if (last >= base::traffic::kMostFilterPlaces) return false;
  places.places = any ? last + 1 : 0;
  places.low += skipped * step;

  base::Buffer const bits = allocate_bits(queue, places.places);
  bool const all_in_range = common.low == of_build.low && common.high == of_build.high;
  base::with_key_type(build->key_width, [&](auto zero) {
    using Key = decltype(zero);
    kernels::KeyBitsFilter<Key> const filter = {
        {static_cast<Key>(places.low), places.shift}, places.places, bits.as<uint32_t>()};
    leave_out(queue, filtered, all_in_range, filter, build, probe);
  });
  return true;
}

void filter_by_hashes(base::Queue& queue, Filtered filtered, PreparedKeys* build,
                      PreparedKeys* probe) {
  if (build->rows == 0 || probe->rows == 0) return;
  uint64_t const places =
      base::traffic::hash_filter_places(filtered == Filtered::kBuild ? probe->rows : build->rows);
  base::Buffer const bits = allocate_bits(queue, places);
  base::with_key_type(build->key_width, [&](auto zero) {
    using Key = decltype(zero);
    kernels::KeyHashesFilter<Key> const filter = {
        8 * static_cast<int32_t>(sizeof(Key)) - std::countr_zero(places), places,
        bits.as<uint32_t>()};
    leave_out(queue, filtered, true, filter, build, probe);
  });
}

}  // namespace gpujoin::transform
