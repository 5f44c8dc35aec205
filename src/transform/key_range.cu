#include "src/transform/key_range.hpp"

#include <algorithm>
#include <bit>

#include "kernels/transform/key_range.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

KeyPlaces places_of(const kernels::KeyRange& range, int32_t key_width, uint64_t rows) {
  if (range.low > range.high) return {};
  uint64_t const varying = range.any & ~range.all;
  KeyPlaces places;
  places.low = key_width == 4 ? kernels::turn_sign(static_cast<uint32_t>(range.low))
                              : kernels::turn_sign(uint64_t{range.low});
  places.shift = varying == 0 ? 0 : std::countr_zero(varying);
  uint64_t const steps = (range.high - range.low) >> places.shift;
  if (steps < UINT32_MAX) places.places = steps + 1;
  // As many places as rows: steps of one place go from the lowest to the highest.
  places.in_order = places.places == rows && range.step == uint64_t{1} << places.shift;
  return places;
}

kernels::KeyRange key_range(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                            const kernels::ValidityBits& present, void* tiles) {
  if (rows == 0) return {};
  base::ZeroedCounts zeroed(queue, sizeof(kernels::KeyRangeState));
  auto* const state = zeroed.as<kernels::KeyRangeState>();
  auto* const answer = reinterpret_cast<kernels::KeyRangeAnswer*>(base::start_answer(queue));
  constexpr const char* kWhat = "finding the keys' range";
  auto const grid_of = [&](uint32_t tile) {
    return base::grid_of(queue, rows, tile, kernels::kRangeBlocksPerSm);
  };
  base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    // Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
    // answer the next join.
    auto const* const own = static_cast<const Key*>(keys);
    if (tiles == nullptr) {
      auto const kernel = present.bits != nullptr ? kernels::key_range_kernel<Key, true>
                                                  : kernels::key_range_kernel<Key, false>;
      base::launch_dependent(queue, kernel, grid_of(kernels::kStreamTile), kernels::kStreamThreads,
                             0, kWhat, own, rows, present, state, answer);
    } else {
      base::launch_dependent(queue, kernels::tile_ranges_kernel<Key>, grid_of(kernels::kNearTile),
                             kernels::kStreamThreads, 0, kWhat, own, rows,
                             static_cast<kernels::TileRange<Key>*>(tiles), state, answer);
    }
  });
  zeroed.all_launched();
  base::await_answer(queue);
  return answer->content;
}

}  // namespace gpujoin::transform
