// key_bits.hpp: which keys a side has, a bit for each number from the lowest to the highest, and
// the row of each where someone asks.
//
// Source   a bitmap in the place of a hash table, for keys that are dense (as "perfect hash joins",
//          which keep rows by key)
//
// Where keys come once, or a row's first match is enough, and nothing of their rows is put out, a
// join asks of the other side's rows only whether they have a match. 2^20 dense keys are 128 KiB,
// which a core's second cache holds; no side is moved for that. Rows with a match alone look up
// their row: of keys that ascend with the rows, as a table's primary key mostly does, its number is
// how many keys are lower, which the bits tell with a count for each word of them; of others a list
// does, 16 times as large.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/memory.hpp"
#include "src/base/prefetch.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

class KeyBits {
 public:
  // Of the list and the columns of a build side, as matches read them at random: so much stays in
  // a cache, as decision 45 measured it.
  static constexpr uint64_t kMostReadBytes = uint64_t{12} << 20;

  // None where a key comes twice, keys are scattered, or memory is tight. key: of 4 or 8 bytes;
  // rows whose key is NULL are left out. keeps_rows: to_rows() will be asked. may_be_large: it is
  // worth that, for any number of probe sides, or since keys come near each other.
  static std::optional<KeyBits> of_unique(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          bool keeps_rows, bool may_be_large);

  // Unique keys of at most so many numbers, from the lowest to the highest, which rows are placed
  // by (key_places.hpp): a key's number is its row.
  static std::optional<KeyBits> of_places(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          uint64_t most_span);

  // As of_unique, whatever comes twice, of which to_rows() will not be asked.
  static std::optional<KeyBits> of_any(base::Queue& queue, Workers& workers,
                                       const columns::ColumnView& key, uint64_t rows);

  uint64_t span() const { return span_; }
  // How far it is behind the lowest key. Below that it is beyond the highest, too.
  template <typename Key>
  Key number_of(Key key) const {
    return static_cast<Key>(key - static_cast<Key>(low_));
  }
  template <typename Key>
  bool has(Key key) const {
    return (bits_from(number_of(key)) & 1) != 0;
  }
  // Whether all are there; the numbers of each up to the one that is not.
  template <typename Key>
  bool has_all(const Key* keys, uint32_t count, Key* numbers) const {
    constexpr uint32_t kAtOnce = 64;
    uint32_t all = 1;
    for (uint32_t first = 0; first < count && (all & 1) != 0; first += kAtOnce) {
      uint32_t const end = std::min(first + kAtOnce, count);
      for (uint32_t i = first; i < end; ++i) {
        numbers[i] = number_of(keys[i]);
        all &= bits_from(numbers[i]);
      }
    }
    return (all & 1) != 0;
  }
  bool keeps_rows() const { return are_places_ || before_ != nullptr || rows_ != nullptr; }
  // From the numbers of keys that are there to their rows. expected: keeps_rows().
  template <typename Key>
  void to_rows(Key* numbers, uint32_t count) const {
    if (are_places_) return;
    if (before_ != nullptr) {
      auto const* const before = before_->as<uint32_t>();
      for (uint32_t i = 0; i < count; ++i) {
        Key const at = numbers[i];
        numbers[i] = before[at / 32] + lower_bits(words_[at / 32], static_cast<uint32_t>(at % 32));
      }
      return;
    }
    auto const* const rows = rows_->as<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      base::ask_for(rows + numbers[std::min(i + base::kRowsAhead, count - 1)]);
      numbers[i] = rows[numbers[i]];
    }
  }

 private:
  KeyBits(std::shared_ptr<const base::Buffer> bits, uint64_t low, uint64_t span)
      : bits_(std::move(bits)), words_(bits_->as<uint32_t>()), low_(low), span_(span) {}

  // The number's bit, the lowest one, and others.
  uint32_t bits_from(uint64_t number) const {
    uint64_t const inside = number < span_ ? number : span_;
    return words_[inside / 32] >> (inside % 32);
  }
  // How many of the bits below are 1. Spelled out: the instruction for it is not in every x86-64.
  static uint32_t lower_bits(uint32_t word, uint32_t bit) {
    word &= (uint32_t{1} << bit) - 1;
    word -= word >> 1 & 0x55555555U;
    word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
    return ((word + (word >> 4)) & 0x0F0F0F0FU) * 0x01010101U >> 24;
  }
  enum class Rows { kNone, kListed, kPlaced };
  struct Wanted {
    Rows rows = Rows::kNone;
    bool may_be_large = false;
    bool may_repeat = false;
    uint64_t most_span = UINT64_MAX;
  };
  // Key: signed.
  template <typename Key>
  static std::optional<KeyBits> of_keys(base::Queue& queue, Workers& workers,
                                        const columns::ColumnView& key, uint64_t rows,
                                        Wanted wanted);
  static std::optional<KeyBits> of_column(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          Wanted wanted);

  std::shared_ptr<const base::Buffer> bits_;  // of span_ numbers, and one 0 more
  const uint32_t* words_;                     // of bits_
  uint64_t low_;                              // the lowest key's bits
  uint64_t span_;
  bool are_places_ = false;
  std::shared_ptr<const base::Buffer> before_;  // of each word: keys in those before; null: unasked
  std::shared_ptr<const base::Buffer> rows_;  // [span_] of keys that are there, others are not set
};

}  // namespace gpujoin::cpu
