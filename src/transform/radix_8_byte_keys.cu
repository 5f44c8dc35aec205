// radix_8_byte_keys.cu: the radix order for keys of 8 bytes; see radix.cuh.
#include "src/transform/radix.cuh"

namespace gpujoin::transform {

template void radix_order<uint64_t>(base::Queue&, const uint64_t*, uint64_t*, const void*, void*,
                                    int32_t, uint32_t, KeyBits);

}  // namespace gpujoin::transform
