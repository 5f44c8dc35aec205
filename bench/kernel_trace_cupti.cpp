// kernel_trace_cupti.cpp: CUPTI's activity records of kernels and copies. The library is loaded
// when a trace is asked for, so that a benchmark without one starts without it.
#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "bench/kernel_trace.hpp"

namespace gpujoin::bench {

namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kBufferAlignment = 8;  // what CUPTI asks for

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

  void check(CUptiResult result, const char* doing) const {
    if (result == CUPTI_SUCCESS) return;
    const char* why = nullptr;
    result_string(result, &why);
    throw std::runtime_error(std::string(doing) + ": " + (why != nullptr ? why : "CUPTI failed"));
  }
};

// CUPTI's callbacks have no argument of the caller's.
Cupti cupti;
std::mutex mutex;
std::vector<KernelFigures> kernel_records;
std::vector<DeviceInterval> interval_records;

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return short_kernel_name(status == 0 ? readable.get() : name);
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

template <class Activity>
DeviceInterval interval_of(std::string name, const Activity& activity, uint64_t bytes) {
  return {std::move(name), activity.streamId, activity.start, activity.end, bytes};
}

const char* copy_name(uint8_t kind) {
  if (kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) return "copy to device";
  return kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "copy to host" : "copy";
}

KernelFigures figures_of(const CUpti_ActivityKernel10& kernel) {
  KernelFigures figures;
  figures.name = demangled(kernel.name);
  figures.launches = 1;
  figures.milliseconds = 1e-6 * static_cast<double>(kernel.end - kernel.start);
  figures.blocks = int64_t{kernel.gridX} * kernel.gridY * kernel.gridZ;
  figures.threads = kernel.blockX * kernel.blockY * kernel.blockZ;
  figures.registers = kernel.registersPerThread;
  figures.static_shared_bytes = kernel.staticSharedMemory;
  figures.dynamic_shared_bytes = kernel.dynamicSharedMemory;
  figures.local_bytes = kernel.localMemoryPerThread;
  return figures;
}

void take(const CUpti_Activity* record) {
  const std::lock_guard lock(mutex);
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    kernel_records.push_back(figures_of(kernel));
    interval_records.push_back(interval_of(kernel_records.back().name, kernel, 0));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    interval_records.push_back(interval_of(copy_name(copy.copyKind), copy, copy.bytes));
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& fill = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
    interval_records.push_back(interval_of("fill", fill, fill.bytes));
  }
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
  CUpti_Activity* record = nullptr;
  while (used > 0 && cupti.next_record(buffer, used, &record) == CUPTI_SUCCESS) take(record);
  std::free(buffer);
}

template <class Function>
bool find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

void set_occupancy(const cudaDeviceProp& device, KernelFigures* kernel) {
  cudaOccDeviceProp const properties(device);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = kernel->registers;
  attributes.sharedSizeBytes = static_cast<size_t>(kernel->static_shared_bytes);
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  // Dynamic shared memory was allowed, or the kernel would not have run.
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin;
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState const state;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(
          &result, &properties, &attributes, &state, kernel->threads,
          static_cast<size_t>(kernel->dynamic_shared_bytes)) != CUDA_OCC_SUCCESS) {
    throw std::runtime_error("no occupancy can be computed for this device");
  }
  const int warps = (kernel->threads + properties.warpSize - 1) / properties.warpSize;
  const int most_warps = properties.maxThreadsPerMultiprocessor / properties.warpSize;
  kernel->resident_blocks = result.activeBlocksPerMultiprocessor;
  kernel->occupancy = static_cast<double>(kernel->resident_blocks * warps) / most_warps;
}

// Launches of one kernel in one shape together.
std::vector<KernelFigures> summed(const std::vector<KernelFigures>& launches) {
  const auto shape = [](const KernelFigures& k) {
    return std::tuple(k.name, k.threads, k.registers, k.static_shared_bytes, k.dynamic_shared_bytes,
                      k.local_bytes);
  };
  std::map<decltype(shape(launches.front())), KernelFigures> sums;
  for (const KernelFigures& launch : launches) {
    const auto [sum, is_new] = sums.try_emplace(shape(launch), launch);
    if (is_new) continue;
    sum->second.launches += launch.launches;
    sum->second.milliseconds += launch.milliseconds;
    sum->second.blocks = std::max(sum->second.blocks, launch.blocks);
  }
  std::vector<KernelFigures> all;
  for (auto& [key, kernel] : sums) all.push_back(std::move(kernel));
  std::sort(all.begin(), all.end(), [](const KernelFigures& a, const KernelFigures& b) {
    return a.milliseconds > b.milliseconds;
  });
  return all;
}

class CuptiTrace final : public KernelTrace {
 public:
  std::vector<KernelFigures> trace(const std::function<void()>& work) override {
    std::vector<KernelFigures> kernels = summed(records_of(work, kernel_records));
    cudaDeviceProp device{};
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
      throw std::runtime_error("cannot read the device's properties");
    }
    for (KernelFigures& kernel : kernels) set_occupancy(device, &kernel);
    return kernels;
  }

  std::vector<DeviceInterval> intervals(const std::function<void()>& work) override {
    std::vector<DeviceInterval> all = records_of(work, interval_records);
    std::sort(all.begin(), all.end(),
              [](const DeviceInterval& a, const DeviceInterval& b) { return a.start < b.start; });
    return all;
  }

 private:
  template <class Record>
  static std::vector<Record> records_of(const std::function<void()>& work,
                                        std::vector<Record>& records) {
    flush();
    clear();  // what ran before
    work();
    flush();
    const std::lock_guard lock(mutex);
    return std::exchange(records, {});
  }
  static void flush() {
    cupti.check(cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "collect what was traced");
  }
  static void clear() {
    const std::lock_guard lock(mutex);
    kernel_records.clear();
    interval_records.clear();
  }
};

}  // namespace

std::unique_ptr<KernelTrace> make_kernel_trace(std::string& why_not) {
  void* const library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_not = dlerror();
    return nullptr;
  }
  if (!find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) ||
      !find(library, "cuptiActivityEnable", &cupti.enable) ||
      !find(library, "cuptiActivityFlushAll", &cupti.flush_all) ||
      !find(library, "cuptiActivityGetNextRecord", &cupti.next_record) ||
      !find(library, "cuptiGetResultString", &cupti.result_string)) {
    why_not = "libcupti.so.13 lacks a function";
    return nullptr;
  }
  try {
    cupti.check(cupti.register_callbacks(give_buffer, take_buffer), "register with CUPTI");
    cupti.check(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "trace kernels");
    cupti.check(cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY), "trace copies");
    cupti.check(cupti.enable(CUPTI_ACTIVITY_KIND_MEMSET), "trace fills");
  } catch (const std::exception& error) {
    why_not = error.what();
    return nullptr;
  }
  return std::make_unique<CuptiTrace>();
}

}  // namespace gpujoin::bench
