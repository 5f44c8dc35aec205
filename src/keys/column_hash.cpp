#include "src/keys/column_hash.hpp"

#include "src/columns/column.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::keys {

static_assert(kernels::kMostKeyColumns == columns::kMostKeys);

// SplitMix (Steele et al. 2014): a seed's numbers are a mixed counter.
kernels::ColumnHash column_hash(uint64_t seed, uint64_t ones) {
  auto const next_word = [&] { return plan::mix64(seed += 0x9e3779b97f4a7c15ULL); };
  auto const next = [&] {
    kernels::HashSum const high = next_word();
    return high << 64 | next_word();
  };
  kernels::ColumnHash hash{};
  hash.start = next();
  for (kernels::HashSum& factor : hash.factors) factor = next();
  hash.ones = ones;
  return hash;
}

}  // namespace gpujoin::keys
