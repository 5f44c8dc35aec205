#include "src/columns/validity_bits.hpp"

#include <bit>
#include <cstring>

namespace gpujoin::columns {

namespace {

// The 8 bits from bit `shift` of byte `at` on. Does not touch the byte `end` or any after it.
uint8_t byte_at(const uint8_t* bits, uint64_t at, uint64_t end, unsigned shift) {
  unsigned value = static_cast<unsigned>(bits[at]) >> shift;
  if (shift != 0 && at + 1 < end) value |= static_cast<unsigned>(bits[at + 1]) << (8 - shift);
  return static_cast<uint8_t>(value);
}

// Ones in the bits that `rows` rows use of their last byte.
uint8_t last_byte_mask(int64_t rows) {
  unsigned const used = static_cast<unsigned>(rows) % 8;
  return static_cast<uint8_t>(used == 0 ? 0xFF : (1u << used) - 1);
}

}  // namespace

std::vector<uint8_t> rebased(const uint8_t* bits, int64_t first_bit, int64_t rows) {
  std::vector<uint8_t> out(bitmap_words_bytes(rows), 0);
  if (rows == 0) return out;
  uint64_t const bytes = bitmap_bytes(rows);
  uint64_t const begin = static_cast<uint64_t>(first_bit) / 8;
  uint64_t const end = bitmap_bytes(first_bit + rows);
  unsigned const shift = static_cast<unsigned>(first_bit % 8);
  if (shift == 0) {
    std::memcpy(out.data(), bits + begin, bytes);
  } else {
    for (uint64_t i = 0; i < bytes; ++i) out[i] = byte_at(bits, begin + i, end, shift);
  }
  out[bytes - 1] = static_cast<uint8_t>(out[bytes - 1] & last_byte_mask(rows));
  return out;
}

int64_t count_nulls(const uint8_t* bits, int64_t first_bit, int64_t rows) {
  if (rows == 0) return 0;
  uint64_t const bytes = bitmap_bytes(rows);
  uint64_t const begin = static_cast<uint64_t>(first_bit) / 8;
  uint64_t const end = bitmap_bytes(first_bit + rows);
  unsigned const shift = static_cast<unsigned>(first_bit % 8);
  int64_t valid = 0;
  uint64_t i = 0;
  // Eight bytes at a time while a ninth, which lends its low bits, is there to read.
  for (; i + 8 < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bits + begin + i, sizeof(word));
    if (shift != 0) word = word >> shift | uint64_t{bits[begin + i + 8]} << (64 - shift);
    valid += std::popcount(word);
  }
  for (; i < bytes; ++i) {
    uint8_t byte = byte_at(bits, begin + i, end, shift);
    if (i == bytes - 1) byte = static_cast<uint8_t>(byte & last_byte_mask(rows));
    valid += std::popcount(byte);
  }
  return rows - valid;
}

std::vector<uint8_t> all_valid(int64_t rows) {
  std::vector<uint8_t> out(bitmap_words_bytes(rows), 0);
  if (rows == 0) return out;
  uint64_t const bytes = bitmap_bytes(rows);
  std::memset(out.data(), 0xFF, bytes);
  out[bytes - 1] = last_byte_mask(rows);
  return out;
}

}  // namespace gpujoin::columns
