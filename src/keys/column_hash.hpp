// column_hash.hpp: the factors of a context's hash of key columns.
#pragma once

#include "kernels/keys/column_hash.hpp"
#include "src/base/context.hpp"

namespace gpujoin::keys {

// The factors that a seed stands for; see base::Context::hash_seed and hash_ones.
kernels::ColumnHash column_hash(uint64_t seed, uint64_t ones);

inline kernels::ColumnHash column_hash(const base::Context& context) {
  return column_hash(context.hash_seed, context.hash_ones);
}

}  // namespace gpujoin::keys
