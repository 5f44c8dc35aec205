// validity_bits.hpp: Arrow bitmaps in host memory. Bit r of byte r / 8 is row r's; 1 = valid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gpujoin::columns {

// Bytes that `rows` bits take, in whole bytes and in whole 4-byte words.
constexpr uint64_t bitmap_bytes(int64_t rows) { return (static_cast<uint64_t>(rows) + 7) / 8; }
constexpr uint64_t bitmap_words_bytes(int64_t rows) {
  return (static_cast<uint64_t>(rows) + 31) / 32 * 4;
}

// Bits `first` to `first` + 63 of the bits before `end`, those behind them 0. Reads only the bytes
// that hold them. expected: first < end.
inline uint64_t bits_of_64_rows(const uint8_t* bits, uint64_t first, uint64_t end) {
  const uint8_t* const byte = bits + first / 8;
  uint64_t const shift = first % 8;
  uint64_t word = 0;
  if (end - first >= 64) {  // of a known size, so that it is no call
    std::memcpy(&word, byte, 8);
    return shift == 0 ? word : word >> shift | uint64_t{byte[8]} << (64 - shift);
  }
  uint64_t const rows = end - first;
  uint64_t const bytes = (shift + rows + 7) / 8;
  std::memcpy(&word, byte, std::min<uint64_t>(8, bytes));
  word >>= shift;
  if (bytes > 8) word |= uint64_t{byte[8]} << (64 - shift);
  return word & ((uint64_t{1} << rows) - 1);
}

// Zero bits among `rows` bits from `first_bit` on. Reads only the bytes that hold them.
int64_t count_nulls(const uint8_t* bits, int64_t first_bit, int64_t rows);

// The same bits from bit 0 on, in whole words; the bits after the last row are zero.
std::vector<uint8_t> rebased(const uint8_t* bits, int64_t first_bit, int64_t rows);

// `rows` ones, in whole words; the bits after the last row are zero.
std::vector<uint8_t> all_valid(int64_t rows);

// Writes `rows` bits of a bitmap from bit `at` on: those of `bits` from bit 0 on, or all ones or
// zeros. expected: the bits of the byte from there on are 0.
void append_bits(uint8_t* bitmap, int64_t at, const uint8_t* bits, int64_t rows);
void append_same_bits(uint8_t* bitmap, int64_t at, bool value, int64_t rows);

}  // namespace gpujoin::columns
