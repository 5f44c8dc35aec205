#include "src/cpu/key_filter.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "src/columns/validity_bits.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using columns::ColumnView;

// A multiple of the 64 rows of a word, so that no two tasks share one.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;

// Bits by the upper bits of a key's hash.
struct Filter {
  uint64_t* words;
  uint32_t shift;

  void add(uint32_t hash, bool counts) const {
    words[hash >> shift >> 6] |= uint64_t{counts} << (hash >> shift & 63);
  }
  uint64_t has(uint32_t hash) const {
    return words[hash >> shift >> 6] >> (hash >> shift & 63) & 1;
  }
};

// Those of 64 rows at most.
uint64_t valid_bits(const ColumnView& key, uint64_t first, uint64_t end) {
  if (key.validity == nullptr) return ~uint64_t{0} >> (64 - (end - first));
  auto const offset = static_cast<uint64_t>(key.validity_bit_offset);
  return columns::bits_of_64_rows(key.validity, offset + first, offset + end);
}

template <typename Key>
void add_keys(const ColumnView& key, uint64_t rows, const Filter& filter) {
  auto const* const keys = static_cast<const Key*>(key.data);
  auto const add = [&](uint64_t row, bool counts) { filter.add(hash_of(keys[row]), counts); };
  if (key.validity != nullptr) return each_valid_row(key, 0, rows, add);
  for (uint64_t row = 0; row < rows; ++row) add(row, true);
}

// Returns how many rows pass.
template <typename Key>
uint64_t test_keys(const ColumnView& key, uint64_t first, uint64_t end, const Filter& filter,
                   uint64_t* words) {
  auto const* const keys = static_cast<const Key*>(key.data);
  uint64_t passed = 0;
  for (; first < end; first += 64) {
    uint64_t const last = std::min(first + 64, end);
    uint64_t word = 0;
    for (uint64_t row = first; row < last; ++row) {
      word |= filter.has(hash_of(keys[row])) << (row - first);
    }
    word &= valid_bits(key, first, last);
    words[first / 64] = word;
    passed += static_cast<uint64_t>(std::popcount(word));
  }
  return passed;
}

}  // namespace

base::Buffer rows_that_may_match(base::Queue& queue, Workers& workers, const ColumnView& key,
                                 uint64_t rows, const ColumnView& other_key, uint64_t other_rows) {
  auto const bits = std::max<uint32_t>(9, static_cast<uint32_t>(std::bit_width(other_rows)) + 3);
  base::Buffer const filter_words = queue.host_pool->allocate_rows<uint64_t>(
      Memory::kHost, uint64_t{1} << (bits - 6), "a filter of keys");
  std::memset(filter_words.data(), 0, filter_words.bytes());
  Filter const filter{filter_words.as<uint64_t>(), 32 - bits};
  with_key_width(key.width,
                 [&](auto zero) { add_keys<decltype(zero)>(other_key, other_rows, filter); });
  base::Buffer words = queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, (rows + 63) / 64,
                                                                "rows that may match");
  std::atomic<uint64_t> passed{0};
  workers.for_each_range("transform", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    with_key_width(key.width, [&](auto zero) {
      passed.fetch_add(test_keys<decltype(zero)>(key, first, end, filter, words.as<uint64_t>()),
                       std::memory_order_relaxed);
    });
  });
  return passed.load(std::memory_order_relaxed) <= rows / 2 ? std::move(words) : base::Buffer{};
}

}  // namespace gpujoin::cpu
