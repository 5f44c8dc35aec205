// short_value.hpp: a value of a few bytes as three words, which are compared and hashed without a
// loop over its bytes.
//
// The hash is that of kernels/keys/bytes_hash.hpp, and as hard to aim at, for values that are taken
// to have 28 bytes, the last ones 0: length and pieces of seven bytes are the coefficients of a
// polynomial modulo 2^61 - 1. Its powers are known before, so that no product waits for another,
// and the sum of all is reduced once (the multilinear form, of which Thorup 2015, section 3.4).
#pragma once

#include <cstdint>
#include <cstring>

#include "src/keys/bytes_hash.hpp"

namespace gpujoin::cpu {

inline constexpr uint64_t kMostShortBytes = 24;

// The bytes behind the last one are 0: with its length, it says which value it is.
struct ShortValue {
  uint64_t words[3];

  bool operator==(const ShortValue&) const = default;
};

// expected: value.count <= kMostShortBytes.
inline ShortValue short_value(const kernels::LoadableBytes& value) {
  ShortValue made{};
  auto const count = static_cast<int64_t>(value.count);
  if (value.end - value.data >= static_cast<int64_t>(sizeof(made))) {
    std::memcpy(&made, value.data, sizeof(made));
    for (int64_t i = 0; i < 3; ++i) {
      int64_t const left = count - 8 * i;
      uint64_t const some = left > 0 ? ~uint64_t{0} >> (64 - 8 * (left & 7)) % 64 : 0;
      made.words[i] &= left >= 8 ? ~uint64_t{0} : some;
    }
    return made;
  }
  for (int64_t i = 0; 8 * i < count; ++i) {
    int64_t const left = count - 8 * i;
    made.words[i] = kernels::load_bytes(value, static_cast<uint64_t>(8 * i),
                                        static_cast<uint32_t>(left < 8 ? left : 8));
  }
  return made;
}

class ShortHash {
 public:
  explicit ShortHash(const kernels::BytesHash& hash) : hash_(hash) {
    powers_[0] = reduced(hash.next(0, hash.point));
    for (int i = 1; i < kTerms; ++i) powers_[i] = reduced(hash.next(powers_[i - 1], 0));
  }

  uint64_t of(const ShortValue& value, uint64_t count) const {
    constexpr uint64_t kPiece = (uint64_t{1} << 56) - 1;
    uint64_t const* const words = value.words;
    kernels::HashProduct sum = kernels::HashProduct{words[0] & kPiece} * powers_[3];
    sum += kernels::HashProduct{(words[0] >> 56 | words[1] << 8) & kPiece} * powers_[2];
    sum += kernels::HashProduct{(words[1] >> 48 | words[2] << 16) & kPiece} * powers_[1];
    sum += kernels::HashProduct{words[2] >> 40} * powers_[0];
    sum += kernels::HashProduct{count} * powers_[4];
    // Below 2^120: what is left of it is below 2^61 + 2^59, and `start` below 2^61.
    uint64_t const folded = (static_cast<uint64_t>(sum) & kernels::kHashPrime) +
                            static_cast<uint64_t>(sum >> 61) + hash_.start;
    uint64_t mixed = reduced((folded & kernels::kHashPrime) + (folded >> 61));
    mixed ^= mixed >> 32;
    mixed *= 0xff51afd7ed558ccdULL;
    mixed ^= mixed >> 32;
    mixed *= 0xc4ceb9fe1a85ec53ULL;
    mixed ^= mixed >> 32;
    return mixed | hash_.ones;
  }

 private:
  static constexpr int kTerms = 5;  // four pieces and the length

  static uint64_t reduced(uint64_t sum) {
    return sum >= kernels::kHashPrime ? sum - kernels::kHashPrime : sum;
  }

  kernels::BytesHash hash_;
  uint64_t powers_[kTerms];  // of the point, from the first on
};

}  // namespace gpujoin::cpu
