// short_value.hpp: a value of a few bytes as three words, which are compared and hashed without a
// loop over its bytes.
//
// The hash is that of several key columns (kernels/keys/column_hash.hpp), and as hard to aim at:
// the words and the length are its columns. No product waits for another.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/keys/load_bytes.hpp"
#include "src/keys/column_hash.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::cpu {

inline constexpr uint64_t kMostShortBytes = 24;

// The bytes behind the last one are 0: with its length, it says which value it is.
struct ShortValue {
  uint64_t words[3];

  bool operator==(const ShortValue&) const = default;
};

// Of each number of bytes what is kept of the words.
inline constexpr auto kShortMasks = [] {
  std::array<ShortValue, kMostShortBytes + 1> masks{};
  for (uint64_t count = 0; count <= kMostShortBytes; ++count) {
    for (uint64_t byte = 0; byte < count; ++byte) {
      masks[count].words[byte / 8] |= uint64_t{0xff} << (8 * (byte % 8));
    }
  }
  return masks;
}();

// expected: value.count <= kMostShortBytes. Word by word to where it stays: a copy of them that
// reads two at once would wait for both to be written.
inline void read_short_value(const kernels::LoadableBytes& value, ShortValue* made) {
  if (value.end - value.data >= static_cast<int64_t>(sizeof(*made))) {
    ShortValue const& masks = kShortMasks[value.count];
    for (size_t i = 0; i < 3; ++i) {
      uint64_t word;
      std::memcpy(&word, value.data + 8 * i, sizeof(word));
      made->words[i] = word & masks.words[i];
    }
    return;
  }
  auto const count = static_cast<int64_t>(value.count);
  for (int64_t i = 0; i < 3; ++i) {
    int64_t const left = count - 8 * i;
    made->words[i] = left <= 0 ? 0
                               : kernels::load_bytes(value, static_cast<uint64_t>(8 * i),
                                                     static_cast<uint32_t>(left < 8 ? left : 8));
  }
}

class ShortHash {
 public:
  // Another seed's numbers than those that several columns are hashed with: who finds out about one
  // of the hashes knows nothing of the other.
  explicit ShortHash(const base::Context& context)
      : hash_(keys::column_hash(~context.hash_seed, context.hash_ones)) {}

  uint64_t of(const ShortValue& value, uint64_t count) const {
    kernels::HashSum sum = hash_.start;
    for (int i = 0; i < 3; ++i) hash_.add(&sum, i, value.words[i]);
    hash_.add(&sum, 3, count);
    return plan::mix64(hash_.of(sum)) | hash_.ones;
  }

 private:
  kernels::ColumnHash hash_;
};

}  // namespace gpujoin::cpu
