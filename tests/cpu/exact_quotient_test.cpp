// exact_quotient_test.cpp: quotients of wide sums against what the host divides exactly.
#include "kernels/aggregate/exact_quotient.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gpujoin::kernels {
namespace {

// Told by the remainders of its neighbours, which a long double's 64 bits hold.
bool is_nearest(int64_t sum, uint64_t count, double quotient) {
  auto const error = [&](double candidate) {
    long double const product =
        static_cast<long double>(candidate) * static_cast<long double>(count);
    return std::fabs(static_cast<long double>(sum) - product);
  };
  return error(quotient) <= error(std::nextafter(quotient, HUGE_VAL)) &&
         error(quotient) <= error(std::nextafter(quotient, -HUGE_VAL));
}

TEST(ExactQuotient, IsWhatDoublesDivideExactly) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    auto const sum = static_cast<int64_t>(random()) >> (11 + i % 50);
    uint64_t const count = (random() >> (12 + i % 50)) + 1;
    auto const low = static_cast<uint64_t>(sum);
    uint64_t const sign = sum < 0 ? ~uint64_t{0} : 0;
    double const exact = static_cast<double>(sum) / static_cast<double>(count);
    uint64_t const words[5] = {low, sign, sign, sign, sign};
    EXPECT_EQ(exact_quotient(words, 2, count, 0), exact);
    // The long way: a scale of 10^1 over a sum that is ten times as large.
    uint64_t const wide[5] = {low * 10, sign, sign, sign, sign};
    EXPECT_EQ(exact_quotient(wide, 2, count, 1), exact);
    EXPECT_EQ(exact_quotient(wide, 5, count, 1), exact);
    EXPECT_EQ(exact_quotient(words, 3, 10 * count, -1), exact);
  }
}

TEST(ExactQuotient, RoundsOnce) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 20000; ++i) {
    uint64_t const count = (random() >> 50) + 1;
    auto const sum = static_cast<int64_t>(random() >> 2);
    uint64_t const words[2] = {static_cast<uint64_t>(sum), 0};
    EXPECT_TRUE(is_nearest(sum, count, exact_quotient(words, 2, count, 0)))
        << words[0] << " / " << count;
  }
  // Ties to even.
  uint64_t const tie[2] = {(uint64_t{1} << 53) + 1, 0};
  EXPECT_EQ(exact_quotient(tie, 2, 1, 0), 9007199254740992.0);
  uint64_t const above[2] = {(uint64_t{1} << 53) + 3, 0};
  EXPECT_EQ(exact_quotient(above, 2, 1, 0), 9007199254740996.0);
}

TEST(ExactQuotient, OfTheLargest) {
  uint64_t const most[5] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0},
                            ~uint64_t{0} >> 1};
  EXPECT_EQ(exact_quotient(most, 5, 1, 0), std::ldexp(1.0, 319));
  uint64_t const least[5] = {0, 0, 0, 0, uint64_t{1} << 63};
  EXPECT_EQ(exact_quotient(least, 5, 1, 0), -std::ldexp(1.0, 319));
  EXPECT_NEAR(exact_quotient(most, 5, 1, 76) / (std::ldexp(1.0, 319) * 1e-76), 1.0, 1e-15);
  uint64_t const one[2] = {1, 0};
  EXPECT_EQ(exact_quotient(one, 2, 3, 76), 3.33333333333333333333333333333e-77);
}

}  // namespace
}  // namespace gpujoin::kernels
