// pair_comparisons.hpp: a conjunction of a few comparisons of numbers with their columns at hand,
// as host and device both see it
//
// Source   ours
// In       columns of 4 and 8 bytes, on the device
// Out      see compare_items.cuh
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/conditions/simple_comparison.hpp"

namespace gpujoin::kernels {

constexpr int kMostComparisons = 4;

// A comparison with its columns at hand.
struct PairComparison {
  SimpleComparison how;
  const void* first = nullptr;
  const void* second = nullptr;
  ValidityBits first_validity;
  ValidityBits second_validity;
  bool first_of_left = false;
  bool second_of_left = false;
};

struct PairComparisons {
  PairComparison all[kMostComparisons];
  int32_t count = 0;
};

}  // namespace gpujoin::kernels
