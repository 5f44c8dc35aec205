#include "src/base/copy_turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace gpujoin::base {
namespace {

using std::chrono::steady_clock;

bool never() { return false; }

double milliseconds_of(const auto& call) {
  auto const start = steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// Devices of other numbers than any test's before: lines are the process's.
int new_device() {
  static std::atomic<int> number{1000};
  return number.fetch_add(1);
}

TEST(CopyTurn, TheThirdOneWaitsForOneOfTheFirstTwo) {
  int const device = new_device();
  auto first = std::make_unique<CopyTurn>(device, true, never);
  CopyTurn const second(device, true, never);
  std::atomic<bool> has_ended{false};
  std::atomic<bool> came_after{false};
  std::jthread third([&] {
    CopyTurn const turn(device, true, never);
    came_after = has_ended.load();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  has_ended = true;
  first = nullptr;
  third.join();
  EXPECT_TRUE(came_after);
}

TEST(CopyTurn, WaysAndDevicesDoNotWaitForEachOther) {
  int const device = new_device();
  CopyTurn const first(device, true, never);
  CopyTurn const second(device, true, never);
  EXPECT_LT(milliseconds_of([&] { CopyTurn const back(device, false, never); }), 50);
  EXPECT_LT(milliseconds_of([&] { CopyTurn const other(new_device(), true, never); }), 50);
}

TEST(CopyTurn, NobodyWaitsForWhatIsNotWanted) {
  int const device = new_device();
  CopyTurn const first(device, true, never);
  CopyTurn const second(device, true, never);
  EXPECT_LT(milliseconds_of([&] { CopyTurn const third(device, true, [] { return true; }); }), 90);
}

TEST(CopyTurn, NobodyWaitsForever) {
  int const device = new_device();
  CopyTurn const first(device, true, never);
  CopyTurn const second(device, true, never);
  CopyTurn const third(device, true, never);
  SUCCEED();
}

}  // namespace
}  // namespace gpujoin::base
