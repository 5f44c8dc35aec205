#include "src/filters/test_bits.hpp"

#include <algorithm>

#include "kernels/filters/split_block.hpp"
#include "kernels/filters/xxh64.hpp"
#include "src/base/prefetch.hpp"

// Eight words at a time, where the processor has that: asked once, as a build for all x86-64 may
// not assume it. Without it a row takes three times as long.
#if defined(__x86_64__) && defined(__GNUC__)
#define GPUJOIN_HAS_AVX2 1
#include <immintrin.h>
#else
#define GPUJOIN_HAS_AVX2 0
#endif

namespace gpujoin::filters {

namespace {

using namespace kernels;

constexpr int64_t kRowsOfWord = 64;
// Of larger filters a row's block comes from far away: it is asked for before it is looked at.
constexpr uint64_t kPrefetchedBytes = uint64_t{256} << 10;

// of_row(row): 0 or 1.
template <typename OfRow>
[[gnu::always_inline]] inline void for_words(int64_t count, uint64_t* passes, OfRow of_row) {
  for (int64_t first = 0; first < count; first += kRowsOfWord) {
    int64_t const rows = std::min(kRowsOfWord, count - first);
    uint64_t word = 0;
    for (int64_t i = 0; i < rows; ++i) word |= of_row(first + i) << i;
    *passes++ = word;
  }
}

// Bits before and behind the range are not looked at: their place becomes that of the first.
template <bool kHasBits, typename Value>
void test_positions(const Range& range, const uint64_t* bits, const Value* values, int64_t count,
                    uint64_t* passes) {
  auto const first = static_cast<uint64_t>(range.first);
  uint64_t const last = static_cast<uint64_t>(range.last) - first;
  if (range.last < range.first) {
    std::fill_n(passes, (count + kRowsOfWord - 1) / kRowsOfWord, uint64_t{0});
    return;
  }
  for_words(count, passes, [&](int64_t row) {
    uint64_t const place = static_cast<uint64_t>(int64_t{values[row]}) - first;
    auto const is_within = static_cast<uint64_t>(place <= last);
    if constexpr (!kHasBits) return is_within;
    uint64_t const looked_at = place & (0 - is_within);
    return bits[looked_at / 64] >> (looked_at % 64) & is_within;
  });
}

inline uint64_t hash_of(int32_t value) { return xxh64(static_cast<uint64_t>(int64_t{value})); }
inline uint64_t hash_of(int64_t value) { return xxh64(static_cast<uint64_t>(value)); }
inline uint64_t hash_of(uint64_t hash) { return hash; }

// passes(block's words, lower half of the hash): 0 or 1.
template <typename Value, typename Passes>
[[gnu::always_inline]] inline void test_each(const SplitBlocks& filter, const Value* values,
                                             int64_t count, uint64_t* made, Passes passes) {
  bool const is_far = filter.blocks * kBytesOfBlock > kPrefetchedBytes;
  for (int64_t first = 0; first < count; first += kRowsOfWord) {
    int64_t const rows = std::min(kRowsOfWord, count - first);
    uint64_t word = 0;
    if (is_far) {
      uint64_t hashes[kRowsOfWord];
      for (int64_t i = 0; i < rows; ++i) {
        hashes[i] = hash_of(values[first + i]);
        base::ask_for(filter.bits + block_of(hashes[i], filter.blocks) * kWordsOfBlock);
      }
      for (int64_t i = 0; i < rows; ++i) {
        const uint32_t* const at = filter.bits + block_of(hashes[i], filter.blocks) * kWordsOfBlock;
        word |= passes(at, static_cast<uint32_t>(hashes[i])) << i;
      }
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        uint64_t const hash = hash_of(values[first + i]);
        const uint32_t* const at = filter.bits + block_of(hash, filter.blocks) * kWordsOfBlock;
        word |= passes(at, static_cast<uint32_t>(hash)) << i;
      }
    }
    *made++ = word;
  }
}

#if GPUJOIN_HAS_AVX2
template <typename Value>
__attribute__((target("avx2"))) void test_by_vectors(const SplitBlocks& filter, const Value* values,
                                                     int64_t count, uint64_t* made) {
  test_each(
      filter, values, count, made,
      [](const uint32_t* words, uint32_t lower) __attribute__((target("avx2"))) {
        __m256i const salts = _mm256_setr_epi32(static_cast<int>(kSalt0), static_cast<int>(kSalt1),
                                                static_cast<int>(kSalt2), static_cast<int>(kSalt3),
                                                static_cast<int>(kSalt4), static_cast<int>(kSalt5),
                                                static_cast<int>(kSalt6), static_cast<int>(kSalt7));
        __m256i const products =
            _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(lower)), salts);
        __m256i const bits =
            _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
        __m256i const block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
        return static_cast<uint64_t>(_mm256_testc_si256(block, bits));
      });
}
bool has_vectors() {
  static bool const has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

template <typename Value>
void test(const SplitBlocks& filter, const Value* values, int64_t count, uint64_t* made) {
#if GPUJOIN_HAS_AVX2
  if (has_vectors()) return test_by_vectors(filter, values, count, made);
#endif
  test_each(filter, values, count, made, [](const uint32_t* words, uint32_t lower) {
    constexpr uint32_t kSalts[kWordsOfBlock] = {kSalt0, kSalt1, kSalt2, kSalt3,
                                                kSalt4, kSalt5, kSalt6, kSalt7};
    uint32_t missing = 0;
    for (int word = 0; word < kWordsOfBlock; ++word) {
      missing |= bit_of(lower, kSalts[word]) & ~words[word];
    }
    return static_cast<uint64_t>(missing == 0);
  });
}

}  // namespace

void test_range(const Range& range, const int32_t* values, int64_t count, uint64_t* passes) {
  test_positions<false>(range, nullptr, values, count, passes);
}
void test_range(const Range& range, const int64_t* values, int64_t count, uint64_t* passes) {
  test_positions<false>(range, nullptr, values, count, passes);
}
void test_bitmap(const Range& range, const uint64_t* bits, const int32_t* values, int64_t count,
                 uint64_t* passes) {
  test_positions<true>(range, bits, values, count, passes);
}
void test_bitmap(const Range& range, const uint64_t* bits, const int64_t* values, int64_t count,
                 uint64_t* passes) {
  test_positions<true>(range, bits, values, count, passes);
}
void test_blocks(const SplitBlocks& filter, const int32_t* values, int64_t count,
                 uint64_t* passes) {
  test(filter, values, count, passes);
}
void test_blocks(const SplitBlocks& filter, const int64_t* values, int64_t count,
                 uint64_t* passes) {
  test(filter, values, count, passes);
}
void test_hashes(const SplitBlocks& filter, const uint64_t* hashes, int64_t count,
                 uint64_t* passes) {
  test(filter, hashes, count, passes);
}

}  // namespace gpujoin::filters
