#include "src/pieces/exact_number.hpp"

#include <bit>
#include <initializer_list>

namespace gpujoin::pieces {

namespace {

using kernels::Wide;

__extension__ typedef unsigned __int128 TwoWords;

constexpr uint64_t power_of_ten(int32_t exponent) {
  uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}
constexpr int32_t kMostPower = 18;  // 10^18 is the greatest that a signed word holds

// A number with so many zeros at its end is a multiple of so many twos: most divisions are not
// tried.
template <int32_t kZeros>
void take_zeros(uint64_t* number, int32_t* taken) {
  constexpr uint64_t kPower = power_of_ten(kZeros);
  if (std::countr_zero(*number) < kZeros || *number % kPower != 0) return;
  *number /= kPower;
  *taken += kZeros;
}

// Makes the number, which is not 0, no multiple of ten, and answers how many zeros it ended with:
// 19 at most.
int32_t take_zeros(uint64_t* number) {
  int32_t taken = 0;
  if (*number % 10 != 0) return taken;
  take_zeros<16>(number, &taken);
  take_zeros<8>(number, &taken);
  take_zeros<4>(number, &taken);
  take_zeros<2>(number, &taken);
  take_zeros<1>(number, &taken);
  return taken;
}

// Without a sign. Answers the remainder.
uint64_t divide(Wide* number, uint64_t divisor) {
  uint64_t remainder = 0;
  for (int i = 3; i >= 0; --i) {
    TwoWords const dividend = TwoWords{remainder} << 64 | number->words[i];
    if (dividend == 0) continue;
    number->words[i] = static_cast<uint64_t>(dividend / divisor);
    remainder = static_cast<uint64_t>(dividend % divisor);
  }
  return remainder;
}

bool take_zeros(Wide* number, int32_t zeros, int32_t* taken) {
  if (number->words[0] != 0 && std::countr_zero(number->words[0]) < zeros) return false;
  Wide quotient = *number;
  if (divide(&quotient, power_of_ten(zeros)) != 0) return false;
  *number = quotient;
  *taken += zeros;
  return true;
}

// 2^64 leaves 1 when it is divided by 5, so a number is a multiple where the sum of its words is.
bool is_multiple_of_ten(const Wide& number) {
  uint64_t sum = 0;
  for (uint64_t word : number.words) sum += word % 5;
  return number.words[0] % 2 + sum % 5 == 0;  // one branch, which is seldom taken
}

// As of one word.
int32_t take_zeros(Wide* number) {
  int32_t taken = 0;
  if (!is_multiple_of_ten(*number)) return taken;
  while (take_zeros(number, 16, &taken)) continue;
  for (int32_t zeros : {8, 4, 2, 1}) take_zeros(number, zeros, &taken);
  return taken;
}

uint64_t magnitude_of(int64_t number) {
  return number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
}

// Of a mantissa that is no multiple of ten: an integer of 64 bits is written out.
ShortNumber written_out(int64_t mantissa, int32_t exponent) {
  if (exponent <= 0 || exponent > kMostPower) return {mantissa, exponent};
  int64_t integer = 0;
  auto const power = static_cast<int64_t>(power_of_ten(exponent));
  if (__builtin_mul_overflow(mantissa, power, &integer)) return {mantissa, exponent};
  return {integer, 0};
}

}  // namespace

ShortNumber exact_number(int64_t mantissa, int32_t scale) {
  if (scale == 0 || mantissa == 0) return {mantissa, 0};
  uint64_t magnitude = magnitude_of(mantissa);
  int32_t const zeros = take_zeros(&magnitude);
  // The one magnitude that has no positive number, 2^63, is no multiple of ten, and converts back.
  auto const stripped = static_cast<int64_t>(mantissa < 0 ? -magnitude : magnitude);
  return written_out(stripped, zeros - scale);
}

LongNumber exact_number(const Wide& mantissa, int32_t scale) {
  auto const widened = [](ShortNumber number) {
    LongNumber wide;
    wide.exponent = number.exponent;
    wide.mantissa.words[0] = static_cast<uint64_t>(number.mantissa);
    for (int i = 1; i < 4; ++i) wide.mantissa.words[i] = number.mantissa < 0 ? ~uint64_t{0} : 0;
    return wide;
  };
  if (is_short(mantissa)) {
    return widened(exact_number(static_cast<int64_t>(mantissa.words[0]), scale));
  }
  LongNumber number = {mantissa, 0};
  bool const is_negative = static_cast<int64_t>(mantissa.words[3]) < 0;
  if (is_negative) negate(&number.mantissa);
  number.exponent = take_zeros(&number.mantissa) - scale;
  if (is_negative) negate(&number.mantissa);
  if (!is_short(number.mantissa)) return number;
  return widened(written_out(static_cast<int64_t>(number.mantissa.words[0]), number.exponent));
}

}  // namespace gpujoin::pieces
