#include "src/plan/word_rule.hpp"

#include <algorithm>

#include "kernels/limits.hpp"

namespace gpujoin::plan {

std::vector<std::vector<size_t>> words_of(const std::vector<int32_t>& widths, AloneInWord alone) {
  struct Word {
    std::vector<size_t> columns;
    int32_t bytes = 0;
  };
  std::vector<Word> words;
  // The wider ones first: then what is left of a word is filled.
  for (int32_t const width : {2, 1}) {
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] != width) continue;
      auto word = std::find_if(words.begin(), words.end(), [&](const Word& each) {
        return each.bytes + width <= kernels::kWordBytes;
      });
      if (word == words.end()) word = words.insert(words.end(), Word{});
      word->columns.push_back(i);
      word->bytes += width;
    }
  }
  std::vector<std::vector<size_t>> columns;
  for (Word& word : words) {
    bool const stays = word.columns.size() == 1 && alone == AloneInWord::kAsItIs;
    if (!stays) columns.push_back(std::move(word.columns));
  }
  return columns;
}

// By numbers alone: costs ask often, and a list would take longer than they do.
PackedBytes packed_bytes(const std::vector<int32_t>& widths, AloneInWord alone) {
  auto const twos = static_cast<int32_t>(std::count(widths.begin(), widths.end(), 2));
  auto const ones = static_cast<int32_t>(std::count(widths.begin(), widths.end(), 1));
  if (alone == AloneInWord::kPacked) {
    int32_t const columns = 2 * twos + ones;
    return {(columns + kernels::kWordBytes - 1) / kernels::kWordBytes * kernels::kWordBytes,
            columns};
  }
  int32_t const beside_two = std::min(ones, twos % 2 * 2);
  int32_t const left = ones - beside_two;
  bool const is_one_alone = left % kernels::kWordBytes == 1;
  PackedBytes bytes;
  bytes.words = kernels::kWordBytes *
                (twos / 2 + (beside_two != 0 ? 1 : 0) +
                 (left + (is_one_alone ? 0 : kernels::kWordBytes - 1)) / kernels::kWordBytes);
  bytes.columns =
      4 * (twos / 2) + (beside_two != 0 ? 2 + beside_two : 0) + left - (is_one_alone ? 1 : 0);
  return bytes;
}

}  // namespace gpujoin::plan
