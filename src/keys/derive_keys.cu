#include "src/keys/derive_keys.hpp"

#include "kernels/keys/derive_keys.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

base::Buffer derive_key(base::Queue& queue, const kernels::DerivedKey& key, int32_t width,
                        uint64_t rows) {
  base::Buffer values = queue.device_pool->allocate(
      base::Memory::kDevice, base::checked_bytes(rows, static_cast<uint64_t>(width)),
      "a derived key column");
  if (rows == 0) return values;
  base::with_key_type(width, [&](auto zero) {
    using Bits = decltype(zero);
    base::launch_dependent(queue, kernels::derive_keys_kernel<Bits>,
                           base::grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads, 0,
                           "deriving key columns", key, rows, values.as<Bits>());
  });
  return values;
}

}  // namespace gpujoin::keys
