// glance_cuda.cpp: a glance at keys, once they are there.
#include "src/base/device.hpp"
#include "src/execute/glance.hpp"
#include "src/sample/see_repeats.hpp"

namespace gpujoin::execute {

plan::SeenRepeats see_repeats_on_gpu(base::Queue& queue, const columns::Relation& build,
                                     int32_t build_key, const columns::Relation& probe,
                                     int32_t probe_key) {
  base::await(queue, build.ready_event);
  base::await(queue, probe.ready_event);
  return sample::see_repeats(queue, build.columns[static_cast<size_t>(build_key)], build.rows,
                             probe.columns[static_cast<size_t>(probe_key)], probe.rows);
}

}  // namespace gpujoin::execute
