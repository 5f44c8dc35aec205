// filter_keys.hpp: rows that cannot match left out before the transform moves them.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// Leaves out build rows whose key lies beyond the probe side's range, and probe rows whose key no build row has. False, and nothing
// was done: the keys that both sides may have are too far apart for a bit each. Keys must not be mixed. Waits for the stream.
bool filter_keys(base::Context& context, PreparedKeys* build, PreparedKeys* probe);

}  // namespace gpujoin::transform
