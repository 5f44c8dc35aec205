// derive_keys.hpp: key columns that compare by their bits, of those that do not: on the GPU.
#pragma once

#include <cstdint>

#include "kernels/keys/derived_key.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

// [rows] values of `width` bytes, 4 or 8, the first at `values` and each `stride` values behind the
// last. All on the device. Queued on the stream.
void derive_key(base::Queue& queue, const kernels::DerivedKey& key, int32_t width, uint64_t rows,
                uint64_t stride, void* values);

}  // namespace gpujoin::keys
