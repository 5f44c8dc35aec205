#include "src/keys/bytes_hash.hpp"

#include "src/plan/sample_rule.hpp"

namespace gpujoin::keys {

// SplitMix (Steele et al. 2014), as for the hash of columns, of which none of these numbers is one:
// who finds out about one of the hashes knows nothing of the other.
kernels::BytesHash bytes_hash(uint64_t seed, uint64_t ones) {
  seed = plan::mix64(~seed);
  auto const next = [&] {
    return plan::mix64(seed += 0x9e3779b97f4a7c15ULL) % kernels::kHashPrime;
  };
  kernels::BytesHash hash{};
  hash.point = next();
  hash.start = next();
  hash.ones = ones;
  return hash;
}

}  // namespace gpujoin::keys
