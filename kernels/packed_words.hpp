// packed_words.hpp: columns of 1 and 2 bytes side by side in words of 4, as host and device both
// see them.
#pragma once

#include <cstdint>

#include "kernels/limits.hpp"

namespace gpujoin::kernels {

constexpr int kWordParts = kWordBytes;

// The columns of a word, the first in its lowest bits, and those of 2 bytes first. Data: const void
// where they are packed, void where they are unpacked.
template <typename Data>
struct WordParts {
  int32_t count;
  int32_t widths[kWordParts];  // 1 or 2
  Data* columns[kWordParts];
};

}  // namespace gpujoin::kernels
