// bytes_hash.hpp: a hash of byte strings that nobody can aim at who does not know its seed, and
// what a table keeps of it, as host and device both see them
//
// Source   polynomial hashing of strings of any length modulo a Mersenne prime (Thorup 2015, "High
//          speed hashing for integers and strings"), of 2^61 - 1
// In       a value of any number of bytes
// Out      64 bits: the value's length and its bytes, seven at a time, are the coefficients of a
//          polynomial, highest first; its value at `point`, times `point`, plus `start`, mixed
// Why      a value of n bytes has a polynomial of degree k = ceil(n / 7), and no two values have
//          the same. So the sums of two values, of n bytes at most, differ by a polynomial of
//          degree k + 1 at most that is not constant, and by any one number at k + 1 points at
//          most: two values that were chosen without the seed share their 61 bits with a chance of
//          about n / 7 * 2^-61. `start` makes the sum of a value any number with equal chance,
//          whatever the point is, so they share m bits of the hash, before a bijection as after it,
//          with about n / 7 * 2^-m. Who verifies is right in any case; the seed is why nobody can
//          make that slow.
// Costs    a multiplication of 64 by 64 bits for 7 bytes, and one
//
// Strings that count up have sums in an arithmetic progression: hence the bijection at the end. It
// is mix_key.cuh's, in words that a compiler without CUDA knows.
#pragma once

#include <cstdint>

#include "kernels/keys/load_bytes.hpp"

#ifdef __CUDACC__
#define GPUJOIN_HASH __host__ __device__ inline
#else
#define GPUJOIN_HASH inline
#endif

namespace gpujoin::kernels {

__extension__ typedef unsigned __int128 HashProduct;

constexpr uint64_t kHashPrime = (uint64_t{1} << 61) - 1;
constexpr uint32_t kHashPieceBytes = 7;  // the most that are always below the prime

struct BytesHash {
  uint64_t point;  // both below the prime
  uint64_t start;
  // Bits that every hash has set: none, but in tests, whose values then share their hashes.
  uint64_t ones;

  // sum * point + term, of a sum that is below 2^62 and a term below 2^61: the prime is 2^61 - 1,
  // so what lies above 61 bits counts as if it lay below. What comes out is below 2^61 + 3.
  GPUJOIN_HASH uint64_t next(uint64_t sum, uint64_t term) const {
    HashProduct const product = HashProduct{sum} * point;
    uint64_t const folded =
        (static_cast<uint64_t>(product) & kHashPrime) + static_cast<uint64_t>(product >> 61) + term;
    return (folded & kHashPrime) + (folded >> 61);
  }

  GPUJOIN_HASH uint64_t of(const LoadableBytes& value) const {
    uint64_t sum = value.count;
    for (uint64_t at = 0; at < value.count; at += kHashPieceBytes) {
      uint64_t const left = value.count - at;
      auto const count = static_cast<uint32_t>(left < kHashPieceBytes ? left : kHashPieceBytes);
      sum = next(sum, load_bytes(value, at, count));
    }
    sum = next(sum, start);
    if (sum >= kHashPrime) sum -= kHashPrime;
    sum ^= sum >> 32;
    sum *= 0xff51afd7ed558ccdULL;
    sum ^= sum >> 32;
    sum *= 0xc4ceb9fe1a85ec53ULL;
    sum ^= sum >> 32;
    return sum | ones;
  }
};

// A table of rows by their values: open addressing, linear probing, two slots a row, so that a
// walk ends after one and a half on average.
//
//   slot (8 bytes):  | row 32 | tag 32: the hash's lower half |
//
// Where a walk begins is the hash's upper bits, which a table of up to 2^32 slots has to itself. No
// row has the number of a free slot.
constexpr uint64_t kFreeSlot = ~uint64_t{0};

GPUJOIN_HASH uint64_t slots_for(uint64_t rows) { return rows == 0 ? 2 : 2 * rows; }
GPUJOIN_HASH uint64_t first_slot(uint64_t hash, uint64_t slots) {
  return static_cast<uint64_t>(HashProduct{hash} * slots >> 64);
}
GPUJOIN_HASH uint64_t slot_after(uint64_t place, uint64_t slots) {
  return place + 1 == slots ? 0 : place + 1;
}
GPUJOIN_HASH uint64_t filled_slot(uint64_t hash, uint32_t row) { return hash << 32 | row; }
GPUJOIN_HASH uint32_t row_of_slot(uint64_t slot) { return static_cast<uint32_t>(slot); }
// Of a slot that is not free.
GPUJOIN_HASH bool has_tag_of(uint64_t slot, uint64_t hash) {
  return static_cast<uint32_t>(slot >> 32) == static_cast<uint32_t>(hash);
}

// The code of a row whose value the table's side does not have: one that no row of it has. As many
// as there are, so that they do not become one heavy key.
GPUJOIN_HASH uint32_t absent_code(uint32_t row, uint64_t table_rows) {
  uint64_t const codes = (uint64_t{1} << 32) - table_rows;
  uint32_t const among = row < codes ? row : row % static_cast<uint32_t>(codes);
  return static_cast<uint32_t>(table_rows) + among;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_HASH
