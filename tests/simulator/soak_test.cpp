// soak_test.cpp: the same runs on one context again and again: memory is constant.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "tests/simulator/engine.hpp"
#include "tests/simulator/settings.hpp"
#include "tests/simulator/simulated_context.hpp"

using namespace gpujoin_test;

namespace {

using Clock = std::chrono::steady_clock;

// A sanitizer keeps what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsMemoryOurs = false;
#else
constexpr bool kIsMemoryOurs = true;
#endif

constexpr uint64_t kRuns = 24;
// Threads that ended leave arenas behind, of which the next ones take any.
constexpr uint64_t kResidentNoise = uint64_t{24} << 20;
constexpr uint64_t kHeapNoise = uint64_t{256} << 10;

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// That were allocated, and not freed.
uint64_t heap_bytes() {
  auto const info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The most of what was seen in a share of the time.
struct Seen {
  uint64_t resident = 0;
  uint64_t heap = 0;
  void add() {
    resident = std::max(resident, resident_bytes());
    heap = std::max(heap, heap_bytes());
  }
};

double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class Soak : public DeviceTest {};
ON_EVERY_DEVICE(Soak);

}  // namespace

// SOAK_SECONDS: as long.
TEST_P(Soak, KeepsNoMemory) {
  std::chrono::seconds const time(setting("SOAK_SECONDS", 4));
  RunDraw limits;
  limits.cpu_threads = 2;
  limits.host_limit = uint64_t{64} << 20;
  limits.spill = Spill::kRoom;
  SimulatedContext context(limits, device());
  ASSERT_NE(context.get(), nullptr);
  auto const start = Clock::now();
  Seen early;  // but for the first quarter, which warms up
  Seen late;
  int64_t rounds = 0;
  for (; (Clock::now() - start < time || rounds < 4) && !HasFailure(); ++rounds) {
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      RunDraw draw = draw_run(seed, device());
      // As the context has it, of all.
      draw.host_limit = limits.host_limit;
      draw.device_limit = draw.pinned_limit = 0;
      draw.spill = limits.spill;
      SCOPED_TRACE(draw.text());
      RunReport const report = simulate(draw, context.get());
      for (auto const& what : report.wrong) ADD_FAILURE() << what;
    }
    EXPECT_EQ(context.left_behind(), "") << "round " << rounds;
    auto const passed = Clock::now() - start;
    if (rounds < 2 || passed < time / 4) continue;
    (passed < time / 2 || early.heap == 0 ? early : late).add();
  }
  std::printf("%lld rounds of %d runs; resident %.1f, then %.1f MiB; heap %.2f, then %.2f MiB\n",
              static_cast<long long>(rounds), static_cast<int>(kRuns), mib(early.resident),
              mib(late.resident), mib(early.heap), mib(late.heap));
  if (!kIsMemoryOurs) return;
  EXPECT_GT(late.heap, 0U);
  EXPECT_LE(late.heap, early.heap + kHeapNoise);
  EXPECT_LE(late.resident, early.resident + std::max(early.resident / 10, kResidentNoise));
}
