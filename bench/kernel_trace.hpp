// kernel_trace.hpp: the kernels that a call launches, with what each takes of a multiprocessor, and
// what the device does when: kernels and copies of all streams
//
// By CUPTI's activity records: they name every kernel that the driver starts, those of CUB too, as
// it was started. A process that traces is slower to launch, so runs with a trace are not for their
// times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpujoin::bench {

// Launches of one kernel in one shape.
struct KernelFigures {
  std::string name;  // without its template arguments
  int launches = 0;
  double milliseconds = 0;  // of all launches
  int64_t blocks = 0;       // of the largest grid
  int threads = 0;          // of a block
  int registers = 0;        // of a thread
  int64_t static_shared_bytes = 0;
  int64_t dynamic_shared_bytes = 0;
  int64_t local_bytes = 0;  // of a thread: spills, and arrays that are indexed
  int resident_blocks = 0;  // of a multiprocessor, by registers, shared memory and threads
  double occupancy = 0;     // resident warps over those that a multiprocessor holds
};

// One thing that the device did, in nanoseconds of CUPTI's clock.
struct DeviceInterval {
  std::string name;  // of a kernel as above; "copy to device", "copy to host", "copy", "fill"
  uint32_t stream = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t bytes = 0;  // copied, or filled; of kernels 0
};

class KernelTrace {
 public:
  virtual ~KernelTrace() = default;
  // Of what work() launches, the longest first. work() waits for its own kernels.
  virtual std::vector<KernelFigures> trace(const std::function<void()>& work) = 0;
  // Of what work() has the device do, by their start. work() waits for it.
  virtual std::vector<DeviceInterval> intervals(const std::function<void()>& work) = 0;
};

// Before the first CUDA call of the process. Null, with the reason, where there is no CUPTI.
std::unique_ptr<KernelTrace> make_kernel_trace(std::string& why_not);

// Of each benchmark, by its name.
using TracedKernels = std::vector<std::pair<std::string, std::vector<KernelFigures>>>;

// Adds them as "kernels" to the JSON that Google Benchmark has written, whose format has no place
// for them.
void append_kernels(const std::string& json_file, const TracedKernels& kernels);

// An array of [name, stream, start, duration, bytes], one a line, in microseconds since the first.
std::string json_of(const std::vector<DeviceInterval>& intervals);

// The kernel of a demangled name without namespace, return type, template and call arguments.
std::string short_kernel_name(const std::string& demangled);

}  // namespace gpujoin::bench
