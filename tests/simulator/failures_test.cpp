// failures_test.cpp: whatever the library asks of the system fails once, at each call: the run ends
// with its status, keeps nothing, and the context joins afterwards.
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "tests/simulator/engine.hpp"
#include "tests/simulator/failing_calls.hpp"
#include "tests/simulator/settings.hpp"
#include "tests/simulator/simulated_context.hpp"

using namespace gpujoin_test;

namespace {

#if GPUJOIN_CHECKED
constexpr bool kIsChecked = true;
#else
constexpr bool kIsChecked = false;
#endif

struct Scenario {
  const char* name;
  gpujoin_join_kind kind;
  KeyShape shape;
  bool build_left;
  bool is_spilled;
  bool has_filters = false;
};

constexpr Scenario kScenarios[] = {
    {"inner by text", GPUJOIN_JOIN_INNER, KeyShape::kText, false, false},
    {"left of two columns", GPUJOIN_JOIN_LEFT, KeyShape::kTwo, true, false},
    {"full by INT32", GPUJOIN_JOIN_FULL, KeyShape::kInt32, false, false},
    {"mark by INT64", GPUJOIN_JOIN_RIGHT_MARK, KeyShape::kInt64, false, false},
    {"single in partitions", GPUJOIN_JOIN_LEFT_SINGLE, KeyShape::kInt32, false, true},
    {"full in partitions", GPUJOIN_JOIN_FULL, KeyShape::kTwo, true, true},
    {"NOT IN in partitions", GPUJOIN_JOIN_LEFT_NOT_IN, KeyShape::kText, false, true},
    {"inner by text, filtered", GPUJOIN_JOIN_INNER, KeyShape::kText, false, false, true},
    {"semi in partitions, filtered", GPUJOIN_JOIN_LEFT_SEMI, KeyShape::kInt32, false, true, true},
};

RunDraw run_of(const Scenario& scenario) {
  RunDraw draw;
  draw.build.shape = scenario.shape;
  draw.build.rows = scenario.is_spilled ? 8000 : 300;
  draw.build.keys = draw.build.rows;
  draw.build.nulls = 0.05;
  draw.build.unique = scenario.kind == GPUJOIN_JOIN_LEFT_SINGLE;
  draw.batch_rows = 1000;
  draw.cpu_threads = 2;
  if (scenario.is_spilled) {
    // Guards around each buffer take room, too.
    draw.host_limit = uint64_t{kIsChecked ? 3 : 2} << 19;
    draw.spill = Spill::kRoom;
  }
  OperationDraw operation;
  operation.kind = scenario.kind;
  operation.build_left = scenario.build_left;
  operation.probe = draw.build;
  operation.probe.seed = 7;
  operation.probe.unique = false;
  operation.batch_rows = 1000;
  operation.asks = 0.5;
  if (scenario.has_filters) {
    draw.asks_filter = true;
    operation.own_filter = GPUJOIN_OWN_FILTER_ON;
  }
  draw.operations.push_back(operation);
  return draw;
}

class Failures : public DeviceTest {
 protected:
  struct Injection {
    gpujoin_status status;  // of calls that fail for it
    std::function<void(SimulatedContext&, int64_t)> begin;
    std::function<int64_t(SimulatedContext&)> end;  // answers how often the call was made
    bool may_be_survived = false;
  };

  // All n one after the other with SIMULATOR_ALL=1, of which SIMULATOR_ALL=k leaves all but each
  // k-th to other processes, from SIMULATOR_FIRST on; else fewer and fewer of the later ones.
  static int64_t after(int64_t n) {
    int64_t const processes = setting("SIMULATOR_ALL", 0);
    return processes != 0 ? n + processes : n + 1 + n / 16;
  }

  void fail_at_every_call(const Scenario& scenario, const Injection& injection,
                          Beside beside = Beside::kNone) {
    RunDraw const draw = run_of(scenario);
    int64_t failed = 0;
    int64_t tried = 0;
    for (int64_t n = setting("SIMULATOR_FIRST", 1); !HasFailure(); n = after(n)) {
      SCOPED_TRACE(std::string(scenario.name) + ", call " + std::to_string(n));
      SimulatedContext context(draw, device(), beside);
      ASSERT_NE(context.get(), nullptr);
      injection.begin(context, n);
      RunReport const report = simulate(draw, context.get(), {injection.status});
      bool const was_reached = injection.end(context) >= n;
      for (auto const& what : report.wrong) ADD_FAILURE() << what;
      EXPECT_TRUE(was_reached || report.right_answers == 1);
      if (!report.ended_with.empty()) ++failed;
      ++tried;
      EXPECT_EQ(context.left_behind(), "");
      EXPECT_EQ(wrong_of_a_small_join(context.get()), "");
      EXPECT_EQ(context.left_in_the_end(), "");
      if (!was_reached) break;
    }
    std::printf("%s: %lld runs, %lld ended early\n", scenario.name, static_cast<long long>(tried),
                static_cast<long long>(failed));
    EXPECT_GT(tried, 1);
    EXPECT_TRUE(injection.may_be_survived || failed > 0);
  }

  static Injection of_system(SystemCall call, gpujoin_status status, int64_t failures) {
    return {status, [=](SimulatedContext&, int64_t n) { let_fail(call, n, failures); },
            [](SimulatedContext&) { return end_failing(); }};
  }

  static Injection of_allocator(int64_t failures) {
    return {GPUJOIN_ERROR_OUT_OF_MEMORY,
            [=](SimulatedContext& context, int64_t n) {
              context.allocator().calls = 0;
              context.allocator().fail_at = n;
              context.allocator().failures = failures;
            },
            [](SimulatedContext& context) {
              context.allocator().fail_at = 0;
              return context.allocator().calls;
            }};
  }

  void fail_files(SystemCall call, gpujoin_status status, bool may_be_survived) {
    for (Scenario const& scenario : kScenarios) {
      if (!scenario.is_spilled) continue;
      Injection injection = of_system(call, status, 1);
      injection.may_be_survived = may_be_survived;
      fail_at_every_call(scenario, injection);
    }
  }
};
ON_EVERY_DEVICE(Failures);

}  // namespace

// One denied is asked for again, when what is cached was given back: so two.
TEST_P(Failures, OfTheCallersAllocatorOnce) {
  Injection injection = of_allocator(2);
  injection.may_be_survived = true;
  for (Scenario const& scenario : kScenarios) fail_at_every_call(scenario, injection);
}

// Calls without room wait a second for others to give some back, of which there are none:
// scenarios, whose allocators are their own, wait side by side.
TEST_P(Failures, OfTheCallersAllocatorFromThenOn) {
  int const descriptors_before = open_descriptors();
  {
    std::vector<std::jthread> threads;
    for (Scenario const& scenario : kScenarios) {
      threads.emplace_back(
          [&] { fail_at_every_call(scenario, of_allocator(INT64_MAX), Beside::kOthers); });
    }
  }
  // A device keeps descriptors of its own.
  if (device() == GPUJOIN_DEVICE_CPU) {
    EXPECT_EQ(open_descriptors(), descriptors_before);
  }
}

TEST_P(Failures, OfOperatorNewOnce) {
  for (Scenario const& scenario : kScenarios) {
    fail_at_every_call(scenario, of_system(SystemCall::kNew, GPUJOIN_ERROR_OUT_OF_MEMORY, 1));
  }
}

TEST_P(Failures, OfOperatorNewFromThenOn) {
  for (Scenario const& scenario : kScenarios) {
    fail_at_every_call(scenario,
                       of_system(SystemCall::kNew, GPUJOIN_ERROR_OUT_OF_MEMORY, INT64_MAX));
  }
}

TEST_P(Failures, OfMakingAFile) { fail_files(SystemCall::kOpen, GPUJOIN_ERROR_SPILL, false); }
TEST_P(Failures, OfWriting) { fail_files(SystemCall::kWrite, GPUJOIN_ERROR_SPILL, false); }
TEST_P(Failures, OfReading) { fail_files(SystemCall::kRead, GPUJOIN_ERROR_SPILL, false); }
TEST_P(Failures, OfWritingAllAtOnce) {
  fail_files(SystemCall::kShortWrite, GPUJOIN_ERROR_SPILL, true);
}

// Copies, launches, events, streams.
TEST_P(Failures, OfCuda) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "a CPU context calls no CUDA";
  if (!kIsChecked) GTEST_SKIP() << "only a checked build lets CUDA calls fail";
  for (Scenario const& scenario : kScenarios) {
    fail_at_every_call(scenario, of_system(SystemCall::kCuda, GPUJOIN_ERROR_CUDA, 1));
  }
}
