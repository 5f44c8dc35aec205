#include "src/base/copy_turns.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace gpujoin::base {

namespace {

// Who writes to memory that nobody wrote to before spends most of the time on its pages.
constexpr uint64_t kMostToDevice = 2;
constexpr uint64_t kMostFromDevice = 3;
constexpr auto kLongestWait = std::chrono::milliseconds(100);
// How long who waits does not ask whether it is over.
constexpr auto kWaitStep = std::chrono::milliseconds(5);

}  // namespace

// Of a device, one way.
struct CopyTurn::Line {
  std::mutex mutex;
  std::condition_variable ended;
  uint64_t asked = 0;
  uint64_t done = 0;  // who gave up waiting, too
};

CopyTurn::Line& CopyTurn::line_of(int device_id, bool to_device) {
  // Never destroyed: contexts may outlive statics.
  static auto* const mutex = new std::mutex;
  static auto* const lines = new std::map<std::pair<int, bool>, Line>;
  std::lock_guard const lock(*mutex);
  return (*lines)[{device_id, to_device}];
}

CopyTurn::CopyTurn(int device_id, bool to_device, const std::function<bool()>& is_over)
    : line_(line_of(device_id, to_device)) {
  auto const latest = std::chrono::steady_clock::now() + kLongestWait;
  std::unique_lock lock(line_.mutex);
  uint64_t const number = line_.asked++;
  uint64_t const most = to_device ? kMostToDevice : kMostFromDevice;
  auto const is_next = [&] { return number < line_.done + most; };
  while (!line_.ended.wait_for(lock, kWaitStep, is_next)) {
    if (std::chrono::steady_clock::now() >= latest || is_over()) return;
  }
}

CopyTurn::~CopyTurn() {
  {
    std::lock_guard const lock(line_.mutex);
    ++line_.done;
  }
  line_.ended.notify_all();
}

}  // namespace gpujoin::base
