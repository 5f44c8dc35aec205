// radix_4_byte_keys.cu: the radix order for keys of 4 bytes; see radix.cuh.
#include "src/transform/radix.cuh"

namespace gpujoin::transform {

template void radix_order<uint32_t>(base::Queue&, const uint32_t*, uint32_t*, const void*, void*,
                                    int32_t, uint32_t, KeyBits);

}  // namespace gpujoin::transform
