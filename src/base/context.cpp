#include "src/base/context.hpp"

#include <sched.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/calibration_file.hpp"
#include "src/base/forks.hpp"
#include "src/base/queue.hpp"
#include "src/base/spill_folder.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

int32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// The system's; where it has none yet, or a filter of calls refuses, from the clock and addresses.
uint64_t random_seed(const void* own) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed)) return seed;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  seed = static_cast<uint64_t>(now.tv_sec) << 32 ^ static_cast<uint64_t>(now.tv_nsec);
  return seed ^ reinterpret_cast<uintptr_t>(own) << 16 ^ static_cast<uint64_t>(getpid()) << 40;
}

std::shared_ptr<Account> make_host_account(const gpujoin_context_options& options,
                                           uint64_t limit_bytes) {
  auto source = options.allocator != nullptr ? make_caller_source(*options.allocator, nullptr)
                                             : make_host_source();
  return std::make_shared<Account>(std::move(source), Memory::kHost, limit_bytes);
}

// Of a CPU context, whose joins run in host memory.
uint64_t smaller_limit(const gpujoin_context_options& options) {
  uint64_t const joins = options.memory_limit_bytes;
  uint64_t const host = options.host_limit_bytes;
  return joins == 0 || host == 0 ? joins + host : std::min(joins, host);
}

}  // namespace

Context::Context() : pid(process_id()), hash_seed(random_seed(this)) {}
Context::~Context() = default;

void Context::check_usable() const {
  if (process_id() != pid) {
    fail(GPUJOIN_ERROR_FORKED, "context was made in process %d, before fork()",
         static_cast<int>(pid));
  }
  if (device_lost.load(std::memory_order_relaxed)) {
    fail(GPUJOIN_ERROR_DEVICE_LOST,
         "an earlier CUDA error made the device unusable in this process");
  }
}

void Context::log(int32_t level, const std::string& message) const {
  if (log_function != nullptr) log_function(level, message.c_str(), log_user);
}

#if !GPUJOIN_WITH_CUDA
CurrentDevice::CurrentDevice(const Context&) {}
CurrentDevice::~CurrentDevice() = default;
#endif

std::shared_ptr<Context> create_context(const gpujoin_context_options& options) {
  auto context = std::make_shared<Context>();
  context->log_function = options.log;
  context->log_user = options.log_user;
  context->progress_function = options.progress;
  context->progress_user = options.progress_user;
  // No more than can run at a time: what is asked for beyond that is not made, and not reported.
  int32_t const usable = usable_cpus();
  context->cpu_threads = options.cpu_threads > 0 ? std::min(options.cpu_threads, usable) : usable;

  context->has_callers_threads = options.threads == GPUJOIN_THREADS_OF_CALLER;

  if (options.spill_path != nullptr) {
    context->spill_folder =
        std::make_shared<SpillFolder>(options.spill_path, options.spill_limit_bytes);
  } else if (options.spill_limit_bytes != 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "options.spill_limit_bytes is given and options.spill_path is not");
  }

  std::string why_not = "this library was built without CUDA";
  bool use_cuda = false;
  if (options.device != GPUJOIN_DEVICE_CPU) {
#if GPUJOIN_WITH_CUDA
    context->host_account = make_host_account(options, options.host_limit_bytes);
    use_cuda = open_device(*context, options, &why_not);
#endif
    if (!use_cuda && options.device == GPUJOIN_DEVICE_CUDA) {
      fail(GPUJOIN_ERROR_NO_DEVICE, "CUDA cannot be used: %s", why_not.c_str());
    }
  }
  if (use_cuda) {
    context->reason =
        options.device == GPUJOIN_DEVICE_CUDA ? "CUDA was asked for" : "a CUDA device can be used";
  } else {
    context->facts = cpu_facts(context->cpu_threads);
    context->reason = options.device == GPUJOIN_DEVICE_CPU ? std::string("the CPU was asked for")
                                                           : "CUDA cannot be used: " + why_not;
    context->host_account = make_host_account(options, smaller_limit(options));
    LeasedQueue const first(*context);
  }
  context->facts.cpu_threads = context->cpu_threads;
  if (options.calibration_path != nullptr) {
    context->facts =
        read_calibration(context->facts, options.calibration_path, "options.calibration_path");
  }
  context->log(GPUJOIN_LOG_INFO, "context on " + context->facts.name + ": " + context->reason);
  context->log(GPUJOIN_LOG_INFO,
               context->facts.calibrated
                   ? std::string("rates as measured, from ") + options.calibration_path
                   : std::string("rates built in"));
  return context;
}

}  // namespace gpujoin::base
