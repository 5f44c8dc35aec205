// sampled_column.cuh: a key column that is sampled, and which bits and values some of its keys have
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
#pragma once

#include <cstdint>
#include <type_traits>

namespace gpujoin::kernels {

template <typename Key>
struct SampledColumn {
  const Key* keys;
  const uint8_t* validity;  // or null
  int64_t validity_bit_offset;
  int64_t rows;

  __device__ bool is_valid(int64_t row) const {
    if (validity == nullptr) return true;
    int64_t const bit = validity_bit_offset + row;
    return (validity[bit / 8] >> (bit % 8) & 1) != 0;
  }
};

// Which bits and which values some keys have.
template <typename Key>
struct SampledBounds {
  using Signed = std::make_signed_t<Key>;
  static constexpr Signed kHighest = static_cast<Signed>(static_cast<Key>(~Key{0}) >> 1);

  Key any = 0;
  Key all = static_cast<Key>(~Key{0});
  Signed low = kHighest;
  Signed high = -kHighest - 1;

  __device__ void add(Key key) {
    auto const value = static_cast<Signed>(key);
    add({key, key, value, value});
  }
  __device__ void add(const SampledBounds& other) {
    any |= other.any;
    all &= other.all;
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
  }
  __device__ bool has_key() const { return low <= high; }
  __device__ bool holds(Key key) const {
    auto const value = static_cast<Signed>(key);
    return low <= value && value <= high;
  }
};

// Of keys of any width; without a key as it starts.
struct WideBounds {
  unsigned long long any = 0;
  unsigned long long all = ~0ULL;
  long long low = INT64_MAX;
  long long high = INT64_MIN;
};

}  // namespace gpujoin::kernels
