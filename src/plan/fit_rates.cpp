#include "src/plan/fit_rates.hpp"

#include <cmath>

namespace gpujoin::plan {
namespace {

constexpr double kWidest = 100;
constexpr int kHalvings = 40;  // of a factor of 10^4: far below what a clock can tell

double predicted_seconds(const TimedStage& timed, const base::DeviceFacts& facts) {
  double seconds = 0;
  for (const StageCost& cost : cost_of(timed.plan, timed.request, timed.sample, facts).stages) {
    if (cost.stage == timed.stage) seconds += cost.seconds;
  }
  return seconds;
}

}  // namespace

bool fit_rate(const TimedStage& timed, double base::DeviceFacts::*rate, base::DeviceFacts* facts) {
  base::DeviceFacts tried = *facts;
  const auto seconds_at = [&](double value) {
    tried.*rate = value;
    return predicted_seconds(timed, tried);
  };
  double slow = facts->*rate / kWidest;
  double fast = facts->*rate * kWidest;
  if (!(slow > 0) || seconds_at(slow) < timed.seconds || seconds_at(fast) > timed.seconds) {
    return false;
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::sqrt(slow * fast);
    (seconds_at(middle) > timed.seconds ? slow : fast) = middle;
  }
  facts->*rate = std::sqrt(slow * fast);
  return true;
}

}  // namespace gpujoin::plan
