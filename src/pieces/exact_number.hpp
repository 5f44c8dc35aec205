// exact_number.hpp: integers and decimals in one form, which says nothing of the type that held
// them: equal values have equal forms.
#pragma once

#include <cstdint>

#include "kernels/keys/derived_key.hpp"

namespace gpujoin::pieces {

// mantissa * 10^exponent. An integer that 64 bits hold is that with the exponent 0, so that
// integers are in this form as they are. The mantissa of any other number is no multiple of ten.
struct ShortNumber {
  int64_t mantissa = 0;
  int32_t exponent = 0;
};
struct LongNumber {
  kernels::Wide mantissa = {};  // signed, 256 bits
  int32_t exponent = 0;
};

// Of mantissa / 10^scale.
ShortNumber exact_number(int64_t mantissa, int32_t scale);
LongNumber exact_number(const kernels::Wide& mantissa, int32_t scale);

// Whether a signed number is one of 64 bits.
inline bool is_short(const kernels::Wide& number) {
  uint64_t const sign = static_cast<uint64_t>(static_cast<int64_t>(number.words[0]) >> 63);
  return number.words[1] == sign && number.words[2] == sign && number.words[3] == sign;
}

}  // namespace gpujoin::pieces
