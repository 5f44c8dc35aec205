// numbers.hpp: the arithmetic of generated data, the same on the host and on the device
//
// Everything is a pure function of a seed and a position, so any row can be made again anywhere.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define GPUJOIN_BENCH_BOTH __host__ __device__
#else
#define GPUJOIN_BENCH_BOTH
#endif

namespace gpujoin::bench {

// SplitMix64: a bijection of 64 bits that passes for random.
GPUJOIN_BENCH_BOTH inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A number of 0 .. bound - 1 (bound < 2^32): the upper half of random * bound.
GPUJOIN_BENCH_BOTH inline uint64_t scale_to(uint64_t random, uint64_t bound) {
  return ((random >> 32) * bound + (((random & 0xffffffff) * bound) >> 32)) >> 32;
}

// A number of the open interval (0, 1).
GPUJOIN_BENCH_BOTH inline double to_unit(uint64_t random) {
  return (static_cast<double>(random >> 12) + 0.5) * 0x1.0p-52;
}

// A bijection of `bits`-bit numbers (1 to 62) and its inverse.
struct Scramble {
  static constexpr int kRounds = 4;
  static constexpr uint64_t kFactor = 0xd1342543de82ef95;  // odd, so that it has an inverse

  int bits = 1;
  uint64_t added[kRounds] = {};
  uint64_t inverse_factor = 1;

  Scramble() = default;
  Scramble(int bits_, uint64_t seed) : bits(bits_) {
    for (int round = 0; round < kRounds; ++round) added[round] = mix(seed * kRounds + round);
    // Newton: each step doubles the number of right bits, beginning with 3.
    inverse_factor = kFactor;
    for (int step = 0; step < 5; ++step) inverse_factor *= 2 - kFactor * inverse_factor;
  }

  GPUJOIN_BENCH_BOTH uint64_t forward(uint64_t x) const {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    const int shift = (bits + 1) / 2;
    for (int round = 0; round < kRounds; ++round) {
      x = ((x + added[round]) * kFactor) & mask;
      x ^= x >> shift;  // undoes itself, because shift is at least half of the bits
    }
    return x;
  }

  GPUJOIN_BENCH_BOTH uint64_t backward(uint64_t x) const {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    const int shift = (bits + 1) / 2;
    for (int round = kRounds - 1; round >= 0; --round) {
      x ^= x >> shift;
      x = (x * inverse_factor - added[round]) & mask;
    }
    return x;
  }
};

// A permutation of 0 .. size - 1, by walking a Scramble's cycle until it is back inside.
struct Permutation {
  uint64_t size = 1;
  Scramble scramble;

  Permutation() = default;
  Permutation(uint64_t size_, uint64_t seed) : size(size_) {
    int bits = 1;
    while ((uint64_t{1} << bits) < size) ++bits;
    scramble = Scramble(bits, seed);
  }

  GPUJOIN_BENCH_BOTH uint64_t at(uint64_t x) const {
    do {
      x = scramble.forward(x);
    } while (x >= size);
    return x;
  }
};

// Ranks 1 .. size, rank k with a probability proportional to k^-exponent.
// Hoermann & Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", ACM TOMACS 1996: invert the integral of x^-exponent, then reject the part of a
// step that lies under the curve but not in the bar of its rank. Takes 1.1 tries at most.
struct Zipf {
  double size = 1, exponent = 1;
  double integral_first = 0, integral_last = 0, always_accepted = 0;

  Zipf() = default;
  Zipf(uint64_t size_, double exponent_) : size(static_cast<double>(size_)), exponent(exponent_) {
    integral_first = integral(1.5) - 1;
    integral_last = integral(size + 0.5);
    always_accepted = 2 - inverse_integral(integral(2.5) - density(2));
  }

  GPUJOIN_BENCH_BOTH uint64_t rank(uint64_t seed, uint64_t row) const {
    for (uint64_t attempt = 0;; ++attempt) {
      const double unit = to_unit(mix(mix(row ^ seed) + attempt));
      const double u = integral_last + unit * (integral_first - integral_last);
      const double x = inverse_integral(u);
      double k = floor(x + 0.5);
      k = k < 1 ? 1 : k > size ? size : k;
      if (k - x <= always_accepted || u >= integral(k + 0.5) - density(k)) {
        return static_cast<uint64_t>(k);
      }
    }
  }

  GPUJOIN_BENCH_BOTH double density(double x) const { return exp(-exponent * log(x)); }

  // (x^(1 - exponent) - 1) / (1 - exponent), and log x where that is 0/0.
  GPUJOIN_BENCH_BOTH double integral(double x) const {
    const double t = (1 - exponent) * log(x);
    const double ratio = fabs(t) > 1e-8 ? expm1(t) / t : 1 + t / 2;
    return ratio * log(x);
  }

  GPUJOIN_BENCH_BOTH double inverse_integral(double y) const {
    double t = y * (1 - exponent);
    if (t < -1) t = -1;  // rounding alone can lead there
    const double ratio = fabs(t) > 1e-8 ? log1p(t) / t : 1 - t / 2;
    return exp(ratio * y);
  }
};

}  // namespace gpujoin::bench
