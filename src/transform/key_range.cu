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

namespace {

// launch(keys, blocks for tiles of so many rows, state, answer): queues what answers.
template <typename Launch>
kernels::KeyRange answer_of(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                            uint32_t tile, const Launch& launch) {
  if (rows == 0) return {};
  base::ZeroedCounts zeroed(queue, sizeof(kernels::KeyRangeState));
  auto* const answer = reinterpret_cast<kernels::KeyRangeAnswer*>(base::start_answer(queue));
  unsigned const blocks = base::grid_of(queue, rows, tile, kernels::kRangeBlocksPerSm);
  base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    launch(static_cast<const Key*>(keys), blocks, zeroed.as<kernels::KeyRangeState>(), answer);
  });
  zeroed.all_launched();
  base::await_answer(queue);
  return answer->content;
}

constexpr const char* kFindingRange = "finding the keys' range";

}  // namespace

// Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
// answer the next join.
kernels::KeyRange key_range(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                            const kernels::ValidityBits& present) {
  return answer_of(queue, keys, key_width, rows, kernels::kStreamTile,
                   [&]<typename Key>(const Key* own, unsigned blocks, kernels::KeyRangeState* state,
                                     kernels::KeyRangeAnswer* answer) {
                     auto const kernel = present.bits != nullptr
                                             ? kernels::key_range_kernel<Key, true>
                                             : kernels::key_range_kernel<Key, false>;
                     base::launch_dependent(queue, kernel, blocks, kernels::kStreamThreads, 0,
                                            kFindingRange, own, rows, present, state, answer);
                   });
}

kernels::KeyRange key_ranges(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                             void* tiles) {
  return answer_of(queue, keys, key_width, rows, kernels::kNearTile,
                   [&]<typename Key>(const Key* own, unsigned blocks, kernels::KeyRangeState* state,
                                     kernels::KeyRangeAnswer* answer) {
                     base::launch_dependent(queue, kernels::tile_ranges_kernel<Key>, blocks,
                                            kernels::kStreamThreads, 0, kFindingRange, own, rows,
                                            static_cast<kernels::TileRange<Key>*>(tiles), state,
                                            answer);
                   });
}

}  // namespace gpujoin::transform
