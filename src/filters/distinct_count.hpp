// distinct_count.hpp: about how many different values there are, of their hashes
//
// Source   Flajolet et al. 2007, "HyperLogLog: the analysis of a near-optimal cardinality
//          estimation algorithm"
// In       hashes of 64 bits
// Out      an estimate, of a standard error of 1.6 %
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace gpujoin::filters {

class DistinctCount {
 public:
  void add(uint64_t hash) {
    uint64_t const rest = hash << kIndexBits | uint64_t{1} << (kIndexBits - 1);
    auto const rank = static_cast<uint8_t>(std::countl_zero(rest) + 1);
    uint8_t& kept = ranks_[hash >> (64 - kIndexBits)];
    if (rank > kept) kept = rank;
  }
  void add(const DistinctCount& other) {
    for (size_t i = 0; i < ranks_.size(); ++i) ranks_[i] = std::max(ranks_[i], other.ranks_[i]);
  }

  int64_t estimate() const {
    double sum = 0;
    double zeros = 0;
    for (uint8_t const rank : ranks_) {
      sum += std::ldexp(1.0, -rank);
      zeros += rank == 0 ? 1 : 0;
    }
    constexpr double kCount = kRegisters;
    double const raw = 0.7213 / (1 + 1.079 / kCount) * kCount * kCount / sum;
    bool const is_small = raw <= 2.5 * kCount && zeros > 0;
    return std::llround(is_small ? kCount * std::log(kCount / zeros) : raw);
  }

 private:
  static constexpr int kIndexBits = 12;
  static constexpr size_t kRegisters = size_t{1} << kIndexBits;
  std::array<uint8_t, kRegisters> ranks_ = {};
};

}  // namespace gpujoin::filters
