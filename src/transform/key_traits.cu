#include "src/transform/key_traits.hpp"

#include <algorithm>

#include "kernels/transform/key_traits.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

KeyTraits key_traits(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                     const void* probe_keys, uint32_t probe_rows) {
  if (rows == 0) return {};
  bool const has_probe = probe_keys != nullptr && probe_rows != 0;
  auto const sampled = static_cast<uint32_t>(
      std::min<uint64_t>(UINT32_MAX, (uint64_t{kernels::kSampledKeys} << 32) / rows));
  unsigned const blocks =
      base::grid_of(queue, rows, kernels::kStreamTile, kernels::kRangeBlocksPerSm);
  auto* const answer = reinterpret_cast<kernels::KeyTraitsAnswer*>(base::start_answer(queue));
  base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    using State = kernels::KeyTraitsState<Key>;
    static_assert(sizeof(State) <= base::kZeroedBytes);
    base::ZeroedCounts zeroed(queue, sizeof(State));
    base::launch_dependent(queue, kernels::key_traits_kernel<Key>, blocks, kernels::kStreamThreads,
                           0, "scanning the build keys", static_cast<const Key*>(keys), rows,
                           static_cast<const Key*>(has_probe ? probe_keys : nullptr),
                           has_probe ? probe_rows : 0, sampled, zeroed.as<State>(), answer);
    zeroed.all_launched();
  });
  base::await_answer(queue);
  kernels::KeyTraits const& found = answer->content;
  auto const has = [&](uint32_t flag) { return (found.flags & flag) != 0; };
  return {found.range, has(kernels::kKeyRepeats),
          has_probe && !has(kernels::kBuildDescends) && !has(kernels::kProbeDescends),
          has(kernels::kProbeRepeats)};
}

}  // namespace gpujoin::transform
