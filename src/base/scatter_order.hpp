// scatter_order.hpp: the numbers below 2^bits, each once, in an order without pattern.
#pragma once

#include <cstdint>

namespace gpujoin::base {

// The number at place i. Each step is one to one on so many bits: xor with an own shift, an odd
// factor.
constexpr uint32_t scattered(uint32_t i, int32_t bits) {
  const uint32_t mask = bits < 32 ? (uint32_t{1} << bits) - 1 : ~uint32_t{0};
  const int32_t shift = bits / 2 + 1;
  uint32_t number = i & mask;
  number = (number ^ number >> shift) * 0x9E3779B1U & mask;
  number = (number ^ number >> shift) * 0x85EBCA6BU & mask;
  return number ^ number >> shift;
}

}  // namespace gpujoin::base
