// filter_keys.hpp: rows that cannot match left out before the transform moves them.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

enum class Filtered {
  // Build rows whose key lies beyond the probe side's range, and probe rows whose key no build row has.
  kBoth,
  // Build rows whose key no probe row has: the probe side stays where it is.
  kBuild,
};

// Leaves out rows. False, and nothing was done: the keys that both sides may have are too far apart for a bit each. Keys must not be
// mixed. Waits for the stream.
bool filter_keys(base::Context& context, Filtered filtered, PreparedKeys* build,
                 PreparedKeys* probe);

}  // namespace gpujoin::transform
