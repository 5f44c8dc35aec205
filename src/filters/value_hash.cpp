#include "src/filters/value_hash.hpp"

#include <algorithm>

#include "kernels/filters/xxh64.hpp"
#include "src/pieces/key_words.hpp"

namespace gpujoin::filters {

namespace {

using kernels::xxh64;

// Rows are hashed so many at a time: their hashes of all keys stay in the first cache.
constexpr int64_t kBlockRows = 64;

// See key_words.hpp: a value's word is its hash.
struct PublicHashes {
  uint64_t null() const { return 0x9ae16a3b2f90404f; }
  uint64_t plain(uint64_t word) const { return xxh64(word); }
  uint64_t large(uint64_t value) const {
    return of(pieces::exact_number(kernels::Wide{{value, 0, 0, 0}}, 0));
  }
  uint64_t bytes(const kernels::LoadableBytes& value) const {
    return xxh64(value.data, value.count);
  }
  uint64_t of(uint64_t low, uint64_t high) const {
    uint64_t const both[2] = {low, high};
    uint64_t const sign = static_cast<uint64_t>(static_cast<int64_t>(low) >> 63);
    return high == sign ? xxh64(low) : xxh64(both, sizeof(both));
  }
  uint64_t of(const pieces::ShortNumber& number) const {
    if (number.exponent == 0) return xxh64(static_cast<uint64_t>(number.mantissa));
    uint64_t const sign = static_cast<uint64_t>(number.mantissa >> 63);
    return xxh64_of(kernels::Wide{{static_cast<uint64_t>(number.mantissa), sign, sign, sign}},
                    number.exponent);
  }
  uint64_t of(const pieces::LongNumber& number) const {
    bool const is_word = number.exponent == 0 && pieces::is_short(number.mantissa);
    return is_word ? xxh64(number.mantissa.words[0]) : xxh64_of(number.mantissa, number.exponent);
  }

 private:
  static uint64_t xxh64_of(const kernels::Wide& mantissa, int32_t exponent) {
    unsigned char bytes[sizeof(mantissa.words) + sizeof(exponent)];
    std::memcpy(bytes, mantissa.words, sizeof(mantissa.words));
    std::memcpy(bytes + sizeof(mantissa.words), &exponent, sizeof(exponent));
    return xxh64(bytes, sizeof(bytes));
  }
};

}  // namespace

void hash_values(std::span<const columns::ColumnView> columns, int64_t rows,
                 std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t* hashes,
                 uint8_t* has_null) {
  std::fill_n(has_null, count, uint8_t{0});
  auto const unequal = [&](size_t key, int64_t at) {
    int32_t const flags = key_flags.empty() ? 0 : key_flags[key];
    return (flags & columns::kNullEqual) == 0 ? has_null + at : nullptr;
  };
  if (columns.size() == 1) {
    auto const key = pieces::key_reader(columns[0], rows, PublicHashes());
    return pieces::write_words(key, first, count, hashes, unequal(0, 0));
  }
  uint64_t words[columns::kMostKeys][kBlockRows];
  for (int64_t done = 0; done < count; done += kBlockRows) {
    int64_t const now = std::min(kBlockRows, count - done);
    for (size_t i = 0; i < columns.size(); ++i) {
      auto const key = pieces::key_reader(columns[i], rows, PublicHashes());
      pieces::write_words(key, first + done, now, words[i], unequal(i, done));
    }
    for (int64_t row = 0; row < now; ++row) {
      uint64_t of_row[columns::kMostKeys];
      for (size_t i = 0; i < columns.size(); ++i) of_row[i] = words[i][row];
      hashes[done + row] = xxh64(of_row, columns.size() * sizeof(uint64_t));
    }
  }
}

}  // namespace gpujoin::filters
