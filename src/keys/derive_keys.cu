#include "src/keys/derive_keys.hpp"

#include "kernels/keys/derive_keys.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

void derive_key(base::Queue& queue, const kernels::DerivedKey& key, int32_t width, uint64_t rows,
                uint64_t stride, void* values) {
  if (rows == 0) return;
  base::with_key_type(width, [&](auto zero) {
    using Bits = decltype(zero);
    auto* const kernel = kernels::is_of_decimal(key.op) ? kernels::derive_keys_kernel<Bits, true>
                                                        : kernels::derive_keys_kernel<Bits, false>;
    base::launch_dependent(queue, kernel, base::grid_of(rows, kernels::kStreamTile),
                           kernels::kStreamThreads, 0, "deriving key columns", key, rows, stride,
                           static_cast<Bits*>(values));
  });
}

}  // namespace gpujoin::keys
