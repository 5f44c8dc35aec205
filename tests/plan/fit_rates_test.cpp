#include "src/plan/fit_rates.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::request_of;
using testing::sample_of;

constexpr int64_t kRows25 = int64_t{1} << 25;

// A stage as a machine with other rates would run it: the time is the model's own, with those
// rates.
TimedStage timed_on(const base::DeviceFacts& machine, gpujoin_algorithm algorithm,
                    const std::string& stage, double match_ratio) {
  TimedStage timed;
  timed.request = request_of(kRows25, kRows25, 1);
  timed.request.options.algorithm = algorithm;
  timed.sample = sample_of(match_ratio, 25);
  timed.plan = choose_plan(timed.request, timed.sample, machine, 0).plan();
  timed.stage = stage;
  for (const StageCost& cost : cost_of(timed.plan, timed.request, timed.sample, machine).stages) {
    if (cost.stage == stage) timed.seconds += cost.seconds;
  }
  return timed;
}

TEST(FitRates, FindsTheRatesOfAMachineThatIsNotTheBuiltInOne) {
  base::DeviceFacts machine = h200();
  machine.radix_pass_rows_per_second /= 3;
  machine.shared_probe_rows_per_second *= 0.6;
  machine.merge_rows_per_second *= 0.5;
  machine.emitted_pairs_per_second *= 0.3;
  base::DeviceFacts facts = h200();
  const auto fit = [&](double base::DeviceFacts::*rate, gpujoin_algorithm algorithm,
                       const char* stage, double match_ratio) {
    ASSERT_TRUE(fit_rate(timed_on(machine, algorithm, stage, match_ratio), rate, &facts)) << stage;
    EXPECT_NEAR(facts.*rate / machine.*rate, 1, 1e-6) << stage << " " << match_ratio;
  };
  fit(&base::DeviceFacts::radix_pass_rows_per_second, GPUJOIN_ALGORITHM_PHJ_OM, "transform", 0);
  fit(&base::DeviceFacts::shared_probe_rows_per_second, GPUJOIN_ALGORITHM_PHJ_OM, "match", 0);
  fit(&base::DeviceFacts::merge_rows_per_second, GPUJOIN_ALGORITHM_SMJ_OM, "match", 0);
  fit(&base::DeviceFacts::emitted_pairs_per_second, GPUJOIN_ALGORITHM_PHJ_OM, "match", 1);
}

TEST(FitRates, KeepsARateThatTheTimeDoesNotShow) {
  const base::DeviceFacts machine = h200();
  base::DeviceFacts facts = machine;
  TimedStage timed = timed_on(machine, GPUJOIN_ALGORITHM_PHJ_OM, "match", 1);
  for (const double seconds : {0.0, 1e-6, 1e3}) {
    timed.seconds = seconds;
    EXPECT_FALSE(fit_rate(timed, &base::DeviceFacts::emitted_pairs_per_second, &facts)) << seconds;
    EXPECT_EQ(facts.emitted_pairs_per_second, machine.emitted_pairs_per_second);
  }
  // A match reads nothing at random.
  timed = timed_on(machine, GPUJOIN_ALGORITHM_PHJ_OM, "match", 1);
  timed.seconds *= 2;
  EXPECT_FALSE(fit_rate(timed, &base::DeviceFacts::random_reads_per_second, &facts));
}

}  // namespace
}  // namespace gpujoin::plan
