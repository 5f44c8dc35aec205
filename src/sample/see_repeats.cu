// see_repeats.cu: host side of a glance at both sides' keys.
#include "src/sample/see_repeats.hpp"

#include "kernels/sample/see_repeats.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/sample/sampled_view.cuh"

namespace gpujoin::sample {

plan::SeenRepeats see_repeats(base::Queue& queue, const columns::ColumnView& build_key,
                              int64_t build_rows, const columns::ColumnView& probe_key,
                              int64_t probe_rows) {
  return base::with_key_type(build_key.width, [&](auto zero) -> plan::SeenRepeats {
    using Key = decltype(zero);
    base::ZeroedCounts zeroed(queue, sizeof(kernels::SeeState));
    unsigned long long* const answer = base::start_answer(queue);
    kernels::see_repeats_kernel<<<2 * kernels::kSeeBlocks, kernels::kSeeThreads, 0,
                                  base::stream_of(queue)>>>(view_of<Key>(build_key, build_rows),
                                                            view_of<Key>(probe_key, probe_rows),
                                                            zeroed.as<kernels::SeeState>(), answer);
    base::check(cudaGetLastError(), "looking whether keys repeat");
    zeroed.all_launched();
    kernels::RepeatsAnswer const told = {base::await_answer(queue)};
    return {told.build(), told.probe(), told.in_order()};
  });
}

}  // namespace gpujoin::sample
