// derive_keys.hpp: key columns that compare by their bits, of those that do not: on the CPU.
#pragma once

#include <cstdint>

#include "kernels/keys/derived_key.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// [rows] values of `width` bytes, 4 or 8, the first at `values` and each `stride` values behind the
// last. All in host memory.
void derive_key(Workers& workers, const kernels::DerivedKey& key, int32_t width, uint64_t rows,
                uint64_t stride, void* values);

}  // namespace gpujoin::cpu
