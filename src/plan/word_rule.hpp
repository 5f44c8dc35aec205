// word_rule.hpp: which narrow columns of a side travel side by side, as words of 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpujoin::plan {

// Columns of each word, by their number among the widths: those of 1 and 2 bytes, the first in its
// lowest bits. Where nothing is saved a narrow column that would be alone in a word travels as it
// is.
enum class AloneInWord { kAsItIs, kPacked };
std::vector<std::vector<size_t>> words_of(const std::vector<int32_t>& widths,
                                          AloneInWord alone = AloneInWord::kAsItIs);

// Bytes of a row in words, and those of the columns in them.
struct PackedBytes {
  int32_t words = 0;
  int32_t columns = 0;
};
PackedBytes packed_bytes(const std::vector<int32_t>& widths,
                         AloneInWord alone = AloneInWord::kAsItIs);

}  // namespace gpujoin::plan
