// value_hash.hpp: the hash of a key's values by which rows of sides that do not fit are
// partitioned, as host and device both see it
//
// Source   ours; mixed by the finalizer of MurmurHash3
// In       a word for each value of a key column; of values that a word does not hold, what is made
//          one here
// Out      64 bits: equal where the values of all key columns are, whatever their types
// Costs    a multiplication of 64 bits a column, and a finalizer
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/column_hash.hpp"
#include "kernels/keys/derived_key.hpp"

#ifdef __CUDACC__
#define GPUJOIN_HASH __host__ __device__ inline
#else
#define GPUJOIN_HASH inline
#endif

namespace gpujoin::kernels {

// A bijection in which every input bit reaches every output bit.
GPUJOIN_HASH uint64_t mixed_word(uint64_t word) {
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccdULL;
  word ^= word >> 33;
  word *= 0xc4ceb9fe1a85ec53ULL;
  word ^= word >> 33;
  return word;
}

// Of so many partitions that of a hash. Of the upper bits: a product costs a tenth of a remainder.
GPUJOIN_HASH uint32_t partition_of_hash(uint64_t hash, uint32_t partitions) {
  return static_cast<uint32_t>((hash >> 32) * partitions >> 32);
}

// Of one key column.
struct ValueHash {
  uint64_t factor = 1;  // odd
  uint64_t start = 0;   // what stands before the first column
  uint64_t rest_factor = 1;
  uint64_t rest_start = 0;

  // What stands for NULL, whatever the type.
  static constexpr uint64_t kNull = 0x9ae16a3b2f90404f;

  // before: the hash of the columns before.
  GPUJOIN_HASH uint64_t add(uint64_t word, uint64_t before) const {
    return mixed_word(word * factor + before);
  }

  GPUJOIN_HASH uint64_t with_rest(uint64_t rest, uint64_t more) const {
    return (rest | more) == 0 ? 0 : mixed_word(more * rest_factor + rest + rest_start);
  }
  static GPUJOIN_HASH uint64_t sign_of(uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word) >> 63);
  }
  // A signed value of two words: the lower one where that is all there is to it, as it is of a
  // narrower type.
  GPUJOIN_HASH uint64_t word_of(uint64_t low, uint64_t high) const {
    return low + with_rest(0, high ^ sign_of(low));
  }
  // Of a number whose mantissa became the word: times ten to the exponent.
  GPUJOIN_HASH uint64_t with_exponent(uint64_t word, int32_t exponent) const {
    constexpr uint64_t kMark = 0x452821e638d01377;  // no number begins like an exponent by chance
    if (exponent == 0) return word;
    return word + with_rest(0, static_cast<uint64_t>(int64_t{exponent}) ^ kMark);
  }
};

// How values of 1 to 8 bytes become words.
enum class WordOp : int32_t {
  kSigned,
  kUnsigned,
  kFloat,    // of 2, 4 or 8 bytes
  kTime,     // signed, times `nanoseconds`
  kDecimal,  // signed, over 10^scale
};

struct HashedColumn {
  DerivedKey value;  // its source and width
  WordOp op = WordOp::kSigned;
  int32_t scale = 0;
  int64_t nanoseconds = 1;
  ValidityBits validity;
  bool is_null_equal = false;
  ValueHash hash;
};

// Partitions of a side, and a last one of rows with a NULL that equals nothing.
struct PartitionHash {
  int32_t column_count = 0;
  uint32_t partitions = 1;
  HashedColumn columns[kMostKeyColumns];
};

}  // namespace gpujoin::kernels

#undef GPUJOIN_HASH
