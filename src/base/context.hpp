// context.hpp: what a gpujoin_context holds. Shared by plans and results, so that handles may be
// destroyed in any order.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/base/device_facts.hpp"
#include "src/base/memory.hpp"
#include "src/base/scarce_memory.hpp"

namespace gpujoin::base {

// The CUDA half of a context: defined in src/base/device.hpp, absent on a CPU context.
struct Device;

struct Queue;
class SpillFolder;

// Those of a context. See LeasedQueue in src/base/queue.hpp.
struct Queues {
  std::mutex mutex;
  std::condition_variable handed_back;
  std::vector<std::unique_ptr<Queue>> idle;  // the last that worked is the next: its pool is warm
  size_t made = 0;
  size_t most = 0;  // 0: any number
};

struct Context : std::enable_shared_from_this<Context> {
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  DeviceFacts facts;        // of the context's executor
  std::string reason;       // why this device
  int32_t cpu_threads = 1;  // of the CPU executor
  // Its loops run in the oneTBB arena of the thread that calls.
  bool has_callers_threads = false;
  // Of the CPU executor; on a CPU context it carries the limit.
  std::shared_ptr<Account> host_account;
  std::shared_ptr<Account> device_account;  // device and pinned memory; null on a CPU context
  std::shared_ptr<Device> device;           // null on a CPU context
  // Of rows on their way to the device; null on a CPU context.
  std::shared_ptr<Pool> pinned_pool;
  std::shared_ptr<SpillFolder> spill_folder;  // null: none
  gpujoin_log_function log_function = nullptr;
  void* log_user = nullptr;
  gpujoin_progress_function progress_function = nullptr;
  void* progress_user = nullptr;
  std::atomic<uint64_t> cancels{0};   // how often someone asked the calls that run to stop
  std::atomic<uint64_t> answered{0};  // of these, how many a call has answered
  std::atomic<bool> device_lost{false};
  pid_t pid = 0;
  // Of hashes of several key columns: keys that were chosen to share one do not, whoever chose
  // them. Random for each context; a number of their own where tests want the same twice.
  uint64_t hash_seed = 0;
  // Bits that every such hash has set. None, but in tests, whose keys then share their hashes.
  uint64_t hash_ones = 0;
  ScarceMemory scarce_memory;
  Queues queues;  // last: they use what is above

  bool is_cuda() const { return device != nullptr; }
  // Throws FORKED in a child process and DEVICE_LOST after a sticky error. The shim calls it first.
  void check_usable() const;
  void log(int32_t level, const std::string& message) const;
};

// Makes the context's CUDA device current for a scope and puts the caller's back. Nothing on a CPU
// context.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Context& context);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = -1;  // the device to put back; -1: none
};

// All-automatic when options is null. Throws NO_DEVICE when CUDA is asked for and unusable.
std::shared_ptr<Context> create_context(const gpujoin_context_options& options);

#if GPUJOIN_WITH_CUDA
// In device_cuda.cpp. Fills context.device, device_account and facts, makes a queue; answers false
// with the reason when CUDA cannot be used.
bool open_device(Context& context, const gpujoin_context_options& options, std::string* why_not);
#endif

}  // namespace gpujoin::base
