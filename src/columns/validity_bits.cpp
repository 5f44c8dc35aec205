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
  auto const end = static_cast<uint64_t>(first_bit + rows);
  int64_t valid = 0;
  for (auto at = static_cast<uint64_t>(first_bit); at < end; at += 64) {
    valid += std::popcount(bits_of_64_rows(bits, at, end));
  }
  return rows - valid;
}

void append_bits(uint8_t* bitmap, int64_t at, const uint8_t* bits, int64_t rows) {
  uint64_t const bytes = bitmap_bytes(rows);
  unsigned const shift = static_cast<unsigned>(at % 8);
  uint8_t* const target = bitmap + at / 8;
  uint64_t const last = bitmap_bytes(at % 8 + rows);
  for (uint64_t i = 0; i < bytes; ++i) {
    unsigned value = bits[i];
    if (i == bytes - 1) value &= last_byte_mask(rows);
    target[i] = static_cast<uint8_t>(target[i] | value << shift);
    if (shift != 0 && i + 1 < last) target[i + 1] = static_cast<uint8_t>(value >> (8 - shift));
  }
}

void append_same_bits(uint8_t* bitmap, int64_t at, bool value, int64_t rows) {
  for (; rows > 0 && at % 8 != 0; ++at, --rows) {
    bitmap[at / 8] = static_cast<uint8_t>(bitmap[at / 8] | (value ? 1u : 0u) << (at % 8));
  }
  if (rows == 0) return;
  uint64_t const bytes = bitmap_bytes(rows);
  std::memset(bitmap + at / 8, value ? 0xFF : 0, bytes);
  if (value) bitmap[at / 8 + static_cast<int64_t>(bytes) - 1] = last_byte_mask(rows);
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
