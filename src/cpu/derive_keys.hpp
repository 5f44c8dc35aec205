// derive_keys.hpp: key columns that compare by their bits, of those that do not: on the CPU.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::cpu {

// [rows] values of `width` bytes, 4 or 8. key: in host memory.
base::Buffer derive_key(base::Queue& queue, Workers& workers, const kernels::DerivedKey& key,
                        int32_t width, uint64_t rows);

}  // namespace gpujoin::cpu
