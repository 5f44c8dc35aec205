// key_traits.hpp: what one scan of a build side's keys tells of a table of addresses.
#pragma once

#include <cstdint>

#include "kernels/transform/key_range.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::transform {

struct KeyTraits {
  kernels::KeyRange range;  // of all keys
  bool repeat = false;      // some do; false: few do, or none
  bool in_order = false;    // both sides' rows, as some windows show; false where there is no probe
  bool probe_repeat = false;  // and these show neighbours with one key
};

// Of keys that are there. probe_keys: of the other side, or null. Waits for the stream. Throws.
KeyTraits key_traits(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                     const void* probe_keys, uint32_t probe_rows);

}  // namespace gpujoin::transform
