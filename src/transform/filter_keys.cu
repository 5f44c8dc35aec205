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
  std::vector<base::Buffer> along;
};

// Room for the columns of the side that go along; none where there is not enough for all of them,
// which are copied by row number then.
std::vector<base::Buffer> allocate_along(base::Queue& queue, const PreparedKeys& side) {
  std::vector<base::Buffer> along;
  for (PreparedKeys::Along const& column : side.along) {
    base::Buffer room = queue.device_pool->try_allocate(
        Memory::kDevice, base::checked_bytes(side.along_room, static_cast<uint64_t>(column.width)));
    if (!room) return {};
    along.push_back(std::move(room));
  }
  return along;
}

kernels::AlongColumns along_of(const PreparedKeys& side, const std::vector<base::Buffer>& kept) {
  kernels::AlongColumns columns{};
  columns.room = side.along_room;
  for (size_t i = 0; i < kept.size(); ++i) {
    columns.each[columns.count++] = {side.along[i].data, kept[i].data(), side.along[i].width};
  }
  return columns;
}

template <kernels::FilterMode kMode, typename Filter>
Kept filter_side(base::Queue& queue, const Filter& filter,
                 const kernels::ExpectedKeys<typename Filter::Key>& expected,
                 const PreparedKeys& side, bool keeps, unsigned long long* count) {
  using Key = typename Filter::Key;
  Kept kept;
  if (keeps) {
    kept.keys = queue.device_pool->allocate_rows<Key>(Memory::kDevice, side.rows, "kept keys");
    kept.rows = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, side.rows, "kept rows");
    kept.along = allocate_along(queue, side);
  }
  auto kernel = kernels::filter_rows_kernel<Filter, kMode, false>;
  if constexpr (kMode != kernels::FilterMode::kMarkOnce) {
    if (!kept.along.empty()) kernel = kernels::filter_rows_kernel<Filter, kMode, true>;
  }
  kernel<<<base::grid_of(side.rows, kernels::kFilterTile), kernels::kFilterThreads, 0,
           stream_of(queue)>>>(
      filter, expected, static_cast<const Key*>(side.keys), side.source_rows, side.present,
      side.rows, along_of(side, kept.along), kept.keys.as<Key>(), kept.rows.as<uint32_t>(), count);
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
  if (rows > side->along_room) return;
  for (size_t i = 0; i < kept.along.size(); ++i) side->along[i].kept = std::move(kept.along[i]);
}

// As counted on the device.
struct FilterCounts {
  unsigned long long build;
  unsigned long long probe;
  unsigned long long outside;  // not 0: a key lies where none was expected
};

// One side sets bits, the other is asked for them. keeps_all: a build row that sets its bit may
// match, all of them have one. expected: null, or the ranges that all keys must lie in. False, and
// both sides are as they were: one does not.
template <typename Filter>
bool leave_out(base::Queue& queue, Filtered filtered, bool keeps_all, const Filter& filter,
               const ExpectedRanges* expected, PreparedKeys* build, PreparedKeys* probe) {
  using Mode = kernels::FilterMode;
  using Key = typename Filter::Key;
  auto* const counts = queue.device->counters.as<FilterCounts>();
  check(cudaMemsetAsync(filter.bits, 0, (filter.places / 32 + 1) * sizeof(uint32_t),
                        stream_of(queue)),
        "clearing bits of keys");
  check(cudaMemsetAsync(counts, 0, sizeof(*counts), stream_of(queue)), "clearing counts");
  auto const keys_in = [&](const kernels::KeyRange& range, int32_t shift) {
    kernels::ExpectedKeys<Key> keys;
    keys.low = kernels::turn_sign(static_cast<Key>(range.low));
    keys.span = static_cast<Key>(range.high - range.low);
    keys.between_steps = static_cast<Key>((Key{1} << shift) - 1);
    keys.outside = reinterpret_cast<uint32_t*>(&counts->outside);
    return keys;
  };
  kernels::ExpectedKeys<Key> of_build{};
  kernels::ExpectedKeys<Key> of_probe{};
  if (expected != nullptr) {
    // Bits are for the build side's steps: a probe row between them has no match.
    of_build = keys_in(expected->build, places_of(expected->build, sizeof(Key)).shift);
    of_probe = keys_in(expected->probe, 0);
  }
  Kept kept_build;
  Kept kept_probe;
  bool const only_build = filtered == Filtered::kBuild;
  if (only_build) {
    filter_side<Mode::kMarkOnce>(queue, filter, of_probe, *probe, false, &counts->probe);
    kept_build = filter_side<Mode::kTest>(queue, filter, of_build, *build, true, &counts->build);
  } else {
    kept_build =
        filter_side<Mode::kMark>(queue, filter, of_build, *build, !keeps_all, &counts->build);
    kept_probe = filter_side<Mode::kTest>(queue, filter, of_probe, *probe, true, &counts->probe);
  }
  auto const found = *static_cast<const FilterCounts*>(
      base::read_back(queue, static_cast<const void*>(counts), sizeof(*counts)));
  if (found.outside != 0) return false;
  if (only_build ? found.build != build->rows : !keeps_all) {
    take_over(std::move(kept_build), found.build, build);
  }
  if (!only_build && found.probe != probe->rows) {
    take_over(std::move(kept_probe), found.probe, probe);
  }
  return true;
}

base::Buffer allocate_bits(base::Queue& queue, uint64_t places) {
  return queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, places / 32 + 1,
                                                    "bits of keys");
}

enum class FoundByBits { kDone, kTooFarApart, kOutside };

// of_build, of_probe: where the sides' keys lie. are_expected: or most of them.
FoundByBits filter_in_ranges(base::Queue& queue, Filtered filtered, const ExpectedRanges& ranges,
                             bool are_expected, PreparedKeys* build, PreparedKeys* probe) {
  kernels::KeyRange const& of_build = ranges.build;
  kernels::KeyRange common = of_build;
  common.low = std::max(of_build.low, ranges.probe.low);
  common.high = std::min(of_build.high, ranges.probe.high);
  if (common.low > common.high) {
    if (are_expected) return FoundByBits::kOutside;
    build->rows = probe->rows = 0;
    return FoundByBits::kDone;
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
  if (last >= base::traffic::kMostFilterPlaces) return FoundByBits::kTooFarApart;
  places.places = any ? last + 1 : 0;
  places.low += skipped * step;

  base::Buffer const bits = allocate_bits(queue, places.places);
  bool const all_in_range = common.low == of_build.low && common.high == of_build.high;
  bool const is_done = base::with_key_type(build->key_width, [&](auto zero) {
    using Key = decltype(zero);
    kernels::KeyBitsFilter<Key> const filter = {
        {static_cast<Key>(places.low), places.shift}, places.places, bits.as<uint32_t>()};
    return leave_out(queue, filtered, all_in_range, filter, are_expected ? &ranges : nullptr, build,
                     probe);
  });
  return is_done ? FoundByBits::kDone : FoundByBits::kOutside;
}

}  // namespace

bool filter_by_bits(base::Queue& queue, Filtered filtered, const ExpectedRanges* expected,
                    PreparedKeys* build, PreparedKeys* probe) {
  if (build->rows == 0 || probe->rows == 0) return true;
  bool const is_done = expected != nullptr && filter_in_ranges(queue, filtered, *expected, true,
                                                               build, probe) == FoundByBits::kDone;
  if (is_done) return true;
  ExpectedRanges const found = {key_range(queue, build->keys, build->key_width, build->rows),
                                key_range(queue, probe->keys, probe->key_width, probe->rows)};
  return filter_in_ranges(queue, filtered, found, false, build, probe) == FoundByBits::kDone;
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
    leave_out(queue, filtered, true, filter, nullptr, build, probe);
  });
}

}  // namespace gpujoin::transform
