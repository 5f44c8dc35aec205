// encoded_columns.hpp: key columns and what makes one code of them, as host and device both see it
#pragma once

#include <cstdint>

#include "kernels/keys/column_hash.hpp"
#include "kernels/transform/key_range.hpp"

#ifdef __CUDACC__
#define GPUJOIN_CODE __host__ __device__ constexpr
#else
#define GPUJOIN_CODE constexpr
#endif

namespace gpujoin::kernels {

// A column's part of a packed code: (the value, its sign turned, less `low`) << shift. Of a value
// outside of the field it is the field's last.
struct EncodedColumn {
  const void* data;
  uint64_t low;
  uint64_t most;  // all bits of the field
  int32_t width;
  int32_t shift;

  template <typename Code, typename Value>
  GPUJOIN_CODE Code part_of(Value value, bool* is_outside) const {
    Value const above = turn_sign(value) - static_cast<Value>(low);
    bool const is_beyond = above > most;
    *is_outside |= is_beyond;
    return static_cast<Code>(is_beyond ? most : above) << shift;
  }
  template <typename Value, typename Code>
  GPUJOIN_CODE Value value_in(Code code) const {
    return turn_sign(
        static_cast<Value>(static_cast<Value>(code >> shift & most) + static_cast<Value>(low)));
  }
};

struct EncodedColumns {
  EncodedColumn columns[kMostKeyColumns];
  int32_t count;
  int32_t code_width;
  bool hashed;
  ColumnHash hash;              // of hashed codes
  const uint32_t* row_numbers;  // row of each code; null: the identity
  uint32_t* outside;            // becomes 1 where a value lies outside; null: nobody asks
};

}  // namespace gpujoin::kernels

#undef GPUJOIN_CODE
