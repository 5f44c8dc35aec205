// bytes_hash.hpp: the numbers of a context's hash of byte strings.
#pragma once

#include "kernels/keys/bytes_hash.hpp"
#include "src/base/context.hpp"

namespace gpujoin::keys {

// The numbers that a seed stands for; see base::Context::hash_seed and hash_ones.
kernels::BytesHash bytes_hash(uint64_t seed, uint64_t ones);

inline kernels::BytesHash bytes_hash(const base::Context& context) {
  return bytes_hash(context.hash_seed, context.hash_ones);
}

}  // namespace gpujoin::keys
