// seen_keys.hpp: what the copies of a batch told of its keys, for a table that is made of them.
#pragma once

#include "src/transform/key_range.hpp"

namespace gpujoin::execute {

using transform::SeenKeys;

}  // namespace gpujoin::execute
