// simulator_test.cpp: runs of an engine, drawn: kinds, keys, sizes, threads, batches, orders of
// calls, early ends and budgets, each answer compared with a map's.
#include <cstdio>
#include <map>

#include "tests/simulator/engine.hpp"
#include "tests/simulator/settings.hpp"
#include "tests/simulator/simulated_context.hpp"

using namespace gpujoin_test;

namespace {

class Simulator : public DeviceTest {};
ON_EVERY_DEVICE(Simulator);

}  // namespace

// SIMULATOR_FIRST and SIMULATOR_COUNT name other seeds.
TEST_P(Simulator, EngineGetsItsRowsAndItsMemoryBack) {
  auto const first = static_cast<uint64_t>(setting("SIMULATOR_FIRST", 0));
  auto const count = static_cast<uint64_t>(setting("SIMULATOR_COUNT", 300));
  std::map<std::string, int64_t> ends;
  int64_t right = 0;
  int64_t in_partitions = 0;
  int64_t spilled = 0;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    RunDraw const draw = draw_run(seed, device());
    SCOPED_TRACE(draw.text());
    SimulatedContext context(draw, device());
    ASSERT_NE(context.get(), nullptr);
    RunReport const report = simulate(draw, context.get());
    for (auto const& what : report.wrong) ADD_FAILURE() << what;
    right += report.right_answers;
    in_partitions += report.was_in_partitions ? 1 : 0;
    spilled += context.info().spill_peak_bytes != 0 ? 1 : 0;
    for (gpujoin_status const status : report.ended_with) ++ends[gpujoin_status_name(status)];
    EXPECT_EQ(context.left_behind(), "");
    EXPECT_EQ(wrong_of_a_small_join(context.get()), "");
    EXPECT_EQ(context.left_in_the_end(), "");
  }
  std::printf("%lld answers were right; %lld builds in partitions, %lld runs had files",
              static_cast<long long>(right), static_cast<long long>(in_partitions),
              static_cast<long long>(spilled));
  for (auto const& [name, times] : ends) {
    std::printf("; %s %lld", name.c_str(), static_cast<long long>(times));
  }
  std::printf("\n");
  // What is drawn must not all end early.
  if (count >= 100) {
    EXPECT_GT(right, static_cast<int64_t>(count / 3));
    EXPECT_GT(in_partitions, 0);
    EXPECT_GT(spilled, 0);
  }
}
