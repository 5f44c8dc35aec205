// key_range.hpp: whether keys lie close enough together to be addresses.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/transform/key_range.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::transform {

// Keys low, low + 2^shift, ... : `places` of them, of which not every one need occur. places == 0:
// more than 2^32 - 1, of which low and shift are still told, or no key.
struct KeyPlaces {
  uint64_t low = 0;  // bit pattern
  int32_t shift = 0;
  uint64_t places = 0;
  bool in_order = false;  // each row has the key of the place with its number
};

// rows: that have the keys; 0: whether they are in order is not asked.
KeyPlaces places_of(const kernels::KeyRange& range, int32_t key_width, uint64_t rows = 0);

// What was found of keys that do not change any more.
struct SeenKeys {
  const void* keys = nullptr;
  uint64_t rows = 0;
  kernels::KeyRange range;
};

// Of all keys, or of those present. Waits for the stream. tiles: [ceil(rows / kNearTile)] TileRange
// of the keys' type, filled, too, where all keys are present; or null.
kernels::KeyRange key_range(base::Queue& queue, const void* keys, int32_t key_width, uint32_t rows,
                            const kernels::ValidityBits& present = {}, void* tiles = nullptr);

}  // namespace gpujoin::transform
