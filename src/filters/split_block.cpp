#include "src/filters/split_block.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/filters/split_block.hpp"
#include "src/base/prefetch.hpp"
#include "src/filters/chosen_rows.hpp"

namespace gpujoin::filters {

namespace {

constexpr uint64_t kFoldable = 64;

uint64_t rounded_up(uint64_t blocks, uint64_t most) {
  if (blocks <= kFoldable) return blocks;
  return std::min((blocks + kFoldable - 1) / kFoldable * kFoldable, most / kFoldable * kFoldable);
}

}  // namespace

// A block of i values has a bit of a word set with 1 - (31/32)^i, and i is Poisson distributed.
double split_block_rate(int64_t distinct, uint64_t blocks) {
  if (distinct == 0) return 0;
  double const mean = static_cast<double>(distinct) / static_cast<double>(blocks);
  constexpr double kFull = 500;  // of 256 bits all but none are set
  if (mean > kFull) return 1;
  // So many deviations from the mean nothing counts.
  double const reach = 12 * std::sqrt(mean) + 12;
  double const from = std::max(0.0, std::floor(mean - reach));
  double rate = 0;
  for (double values = from; values <= mean + reach; ++values) {
    double const chance = std::exp(values * std::log(mean) - mean - std::lgamma(values + 1));
    double const is_set = 1 - std::pow(31.0 / 32, values);
    rate += chance * std::pow(is_set, kernels::kWordsOfBlock);
  }
  return std::min(rate, 1.0);
}

uint64_t split_blocks_for(int64_t distinct, double rate, uint64_t most_blocks) {
  uint64_t low = 1;
  uint64_t high = std::clamp<uint64_t>(static_cast<uint64_t>(distinct), 1, most_blocks);
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (split_block_rate(distinct, middle) <= rate) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return rounded_up(low, most_blocks);
}

void add_to_blocks(uint32_t* bits, uint64_t blocks, uint64_t first, uint64_t end,
                   const uint64_t* hashes, const uint8_t* skipped, int64_t count) {
  using namespace kernels;
  constexpr uint32_t kSalts[kWordsOfBlock] = {kSalt0, kSalt1, kSalt2, kSalt3,
                                              kSalt4, kSalt5, kSalt6, kSalt7};
  auto const words_of = [&](int64_t i) {
    return bits + block_of(hashes[i], blocks) * kWordsOfBlock;
  };
  for_chosen(
      count,
      [&](int64_t i) {
        uint64_t const block = block_of(hashes[i], blocks);
        bool const is_here = static_cast<bool>((block >= first) & (block < end));
        return static_cast<bool>(is_here & (skipped == nullptr || skipped[i] == 0));
      },
      [&](int64_t i) { base::ask_for(words_of(i)); },
      [&](int64_t i) {
        uint32_t* const words = words_of(i);
        auto const lower = static_cast<uint32_t>(hashes[i]);
        for (int word = 0; word < kWordsOfBlock; ++word) {
          words[word] |= bit_of(lower, kSalts[word]);
        }
      });
}

// A hash's block is its place among all of them, so neighbours become one.
void fold_blocks(uint32_t* bits, uint64_t blocks) {
  constexpr uint64_t kWords = kernels::kWordsOfBlock;
  for (uint64_t block = 0; block < blocks / 2; ++block) {
    for (uint64_t word = 0; word < kWords; ++word) {
      bits[block * kWords + word] =
          bits[2 * block * kWords + word] | bits[(2 * block + 1) * kWords + word];
    }
  }
}

}  // namespace gpujoin::filters
