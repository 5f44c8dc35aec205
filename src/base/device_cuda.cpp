#include "src/base/device.hpp"
#include "src/base/mapped_range.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "src/base/forks.hpp"
#include "src/base/page_locked.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

class CudaSource final : public MemorySource {
 public:
  CudaSource(int device_id, bool maps_pages, int32_t threads)
      : device_id_(device_id),
        maps_pages_(maps_pages),
        locking_(page_locking_of(device_id, threads)) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device_id_;
    check(cudaMemPoolCreate(&pool_, &properties), "creating the device memory pool");
    // The library's own pool decides what to keep; what it gives back goes back to the device.
    uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep),
          "configuring the device memory pool");
  }
  ~CudaSource() override {
    DeviceScope const scope(device_id_);
    cudaMemPoolDestroy(pool_);
  }
  void* allocate(Memory memory, uint64_t bytes, const Stream* stream) override {
    DeviceScope const scope(device_id_);
    void* pointer = nullptr;
    cudaError_t code;
    if (memory == Memory::kDevice) {
      code = cudaMallocFromPoolAsync(&pointer, bytes, pool_, stream->handle);
    } else if (memory == Memory::kManaged) {
      code = cudaMallocManaged(&pointer, bytes);
    } else {
      return allocate_page_locked(bytes, locking_);
    }
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(code, "allocating memory");
    return pointer;
  }
  void deallocate(Memory memory, void* pointer, uint64_t bytes,
                  const Stream* stream) noexcept override {
    // A failure here means a lost device, which the next checked call reports.
    DeviceScope const scope(device_id_);
    if (memory == Memory::kDevice) {
      cudaFreeAsync(pointer, stream->handle);
    } else if (memory == Memory::kManaged) {
      cudaFree(pointer);
    } else {
      free_page_locked(pointer, bytes, locking_);
    }
    cudaGetLastError();
  }
  void put_in_order(const Stream* earlier, const Stream* later) override {
    DeviceScope const scope(device_id_);
    base::put_in_order(*earlier, *later);
  }
  void fill(Memory memory, void* pointer, int value, uint64_t bytes,
            const Stream* stream) override {
    if (memory != Memory::kDevice) return MemorySource::fill(memory, pointer, value, bytes, stream);
    DeviceScope const scope(device_id_);
    // None of those that a program lets fail: guards that are not there look like guards that were
    // written over.
    cudaError_t const code = cudaMemsetAsync(pointer, value, bytes, stream->handle);
    if (code != cudaSuccess) check(code, "filling memory");
  }
  bool is_filled(Memory memory, const void* pointer, int value, uint64_t bytes,
                 const Stream* stream) override {
    if (memory != Memory::kDevice) {
      return MemorySource::is_filled(memory, pointer, value, bytes, stream);
    }
    DeviceScope const scope(device_id_);
    std::array<unsigned char, 4096> host;  // a release asks, and must not allocate
    for (uint64_t at = 0; at < bytes; at += host.size()) {
      uint64_t const now = std::min<uint64_t>(bytes - at, host.size());
      if (cudaMemcpyAsync(host.data(), static_cast<const unsigned char*>(pointer) + at, now,
                          cudaMemcpyDeviceToHost, stream->handle) != cudaSuccess ||
          cudaStreamSynchronize(stream->handle) != cudaSuccess) {
        cudaGetLastError();
        return true;  // a lost device is reported elsewhere
      }
      if (!MemorySource::is_filled(Memory::kHost, host.data(), value, now, nullptr)) {
        return false;
      }
    }
    return true;
  }
  bool maps_pages() const override { return maps_pages_; }
  bool gives_managed_memory() const override { return true; }

 private:
  // Frees may come from any thread, with any current device.
  class DeviceScope {
   public:
    explicit DeviceScope(int device_id) {
      cudaGetDevice(&previous_);
      changed_ = previous_ != device_id && cudaSetDevice(device_id) == cudaSuccess;
    }
    ~DeviceScope() {
      if (changed_) cudaSetDevice(previous_);
    }

   private:
    int previous_ = 0;
    bool changed_ = false;
  };

  int device_id_;
  bool maps_pages_;
  PageLocking locking_;
  cudaMemPool_t pool_ = nullptr;
};

template <typename Function>
void look_up(Function** function, const char* name) {
  void* pointer = nullptr;
  cudaDriverEntryPointQueryResult result{};
  // Version 10.2 introduced virtual memory management with the signatures used here.
  cudaError_t const code =
      cudaGetDriverEntryPointByVersion(name, &pointer, 10020, cudaEnableDefault, &result);
  if (code == cudaSuccess && result == cudaDriverEntryPointSuccess) {
    std::memcpy(function, &pointer, sizeof(pointer));
  } else {
    cudaGetLastError();
  }
}

DriverFunctions load_driver_functions() {
  DriverFunctions driver;
  look_up(&driver.device_get_attribute, "cuDeviceGetAttribute");
  look_up(&driver.mem_address_reserve, "cuMemAddressReserve");
  look_up(&driver.mem_address_free, "cuMemAddressFree");
  look_up(&driver.mem_create, "cuMemCreate");
  look_up(&driver.mem_release, "cuMemRelease");
  look_up(&driver.mem_map, "cuMemMap");
  look_up(&driver.mem_unmap, "cuMemUnmap");
  look_up(&driver.mem_set_access, "cuMemSetAccess");
  look_up(&driver.mem_get_granularity, "cuMemGetAllocationGranularity");
  look_up(&driver.pointer_get_attribute, "cuPointerGetAttribute");
  return driver;
}

bool supports_virtual_memory(const DriverFunctions& driver, int device_id) {
  int value = 0;
  return driver.device_get_attribute != nullptr &&
         driver.device_get_attribute(&value,
                                     CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                     device_id) == CUDA_SUCCESS &&
         value != 0;
}

int attribute(cudaDeviceAttr name, int device_id) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device_id), "asking for a device attribute");
  return value;
}

DeviceFacts facts_of(int device_id) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device_id), "asking for the device's properties");
  DeviceFacts facts;
  facts.name = properties.name;
  facts.is_cuda = true;
  facts.cuda_device_id = device_id;
  facts.sm_count = properties.multiProcessorCount;
  facts.compute_capability = properties.major * 10 + properties.minor;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
  facts.shared_bytes_per_block = properties.sharedMemPerBlockOptin;
  // Double data rate on a bus of so many bits; an H200 copies at 4288 of 4917 GB/s.
  double const clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate, device_id);
  double const bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth, device_id) / 8.0;
  facts.copy_bytes_per_second = 0.87 * 2 * clock_hz * bus_bytes;
  builtin_rates(facts);
  return facts;
}

}  // namespace

#if GPUJOIN_CHECKED
// Of a program that lets calls fail: whether this one has, though CUDA said otherwise. What a call
// made by then stays made. Null in all other programs.
extern "C" __attribute__((weak, visibility("default"))) int gpujoin_checked_cuda_call_fails(
    const char* doing);

static bool is_let_fail(const char* doing) {
  return gpujoin_checked_cuda_call_fails != nullptr && gpujoin_checked_cuda_call_fails(doing) != 0;
}
#else
static bool is_let_fail(const char*) { return false; }
#endif

void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess && is_let_fail(doing)) code = cudaErrorUnknown;
  if (code == cudaSuccess) return;
  cudaGetLastError();
  // A sticky error answers every later call; asking for the device's state shows it.
  bool const sticky = code != cudaErrorMemoryAllocation && cudaFree(nullptr) != cudaSuccess;
  cudaGetLastError();
  gpujoin_status const status = sticky                              ? GPUJOIN_ERROR_DEVICE_LOST
                                : code == cudaErrorMemoryAllocation ? GPUJOIN_ERROR_OUT_OF_MEMORY
                                                                    : GPUJOIN_ERROR_CUDA;
  throw Error(
      status,
      text("CUDA error %d (%s) while %s", static_cast<int>(code), cudaGetErrorString(code), doing),
      static_cast<int32_t>(code), sticky);
}

void check(CUresult code, const char* doing) {
  if (code == CUDA_SUCCESS && is_let_fail(doing)) code = CUDA_ERROR_UNKNOWN;
  if (code == CUDA_SUCCESS) return;
  gpujoin_status const status =
      code == CUDA_ERROR_OUT_OF_MEMORY ? GPUJOIN_ERROR_OUT_OF_MEMORY : GPUJOIN_ERROR_CUDA;
  throw Error(status, text("CUDA driver error %d while %s", static_cast<int>(code), doing),
              static_cast<int32_t>(code), false);
}

bool DriverFunctions::can_map_pages() const {
  return mem_address_reserve != nullptr && mem_address_free != nullptr && mem_create != nullptr &&
         mem_release != nullptr && mem_map != nullptr && mem_unmap != nullptr &&
         mem_set_access != nullptr && mem_get_granularity != nullptr;
}

void* cuda_stream_of(const Stream* stream) {
  return stream == nullptr ? nullptr : static_cast<void*>(stream->handle);
}

Stream::~Stream() {
  if (owned && handle != nullptr) cudaStreamDestroy(handle);
}

CudaQueue::~CudaQueue() {
  for (cudaEvent_t event : events) cudaEventDestroy(event);
}

namespace {

// CUDA that was started in a parent process works in no child of it, and its locks may be held
// there: then no CUDA function is called at all.
bool is_started_by_a_parent() {
  constexpr int64_t kNever = -1;
  static std::atomic<int64_t> started_after{kNever};  // so many forks
  int64_t expected = kNever;
  int64_t const now = forks();
  return !started_after.compare_exchange_strong(expected, now) && expected != now;
}

}  // namespace

bool open_device(Context& context, const gpujoin_context_options& options, std::string* why_not) {
  if (is_started_by_a_parent()) {
    *why_not = "CUDA was started before fork(), and works in no child of that process";
    return false;
  }
  int count = 0;
  cudaError_t const counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
      *why_not = "no NVIDIA driver is installed";
      return false;
    }
    *why_not = text("%s (CUDA error %d)", cudaGetErrorString(counted), static_cast<int>(counted));
    return false;
  }
  if (options.cuda_device_id >= count) {
    *why_not =
        text("cuda_device_id is %d and there are %d CUDA devices", options.cuda_device_id, count);
    return false;
  }
  context.device = std::make_shared<Device>();
  context.device->id = options.cuda_device_id;
  CurrentDevice const current(context);
  try {
    Device& device = *context.device;
    context.facts = facts_of(device.id);
    // Pools that share one stream of the caller's would gain nothing.
    device.caller_stream = static_cast<cudaStream_t>(options.cuda_stream);
    context.queues.most = device.caller_stream != nullptr ? 1 : 0;
    device.driver = load_driver_functions();
    bool const maps_pages = options.allocator == nullptr && device.driver.can_map_pages() &&
                            supports_virtual_memory(device.driver, device.id);
    if (maps_pages) {
      CUmemAllocationProp property{};
      property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      property.location.id = device.id;
      size_t granularity = 0;
      check(device.driver.mem_get_granularity(&granularity, &property,
                                              CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
            "asking for the page size of device memory");
      device.page_bytes = granularity;
    }
    std::unique_ptr<MemorySource> source =
        std::make_unique<CudaSource>(device.id, maps_pages, context.cpu_threads);
    if (options.allocator != nullptr) {
      source = make_caller_source(*options.allocator, std::move(source));
    }
    context.device_account = std::make_shared<Account>(
        std::move(source), Memory::kDevice, options.memory_limit_bytes, options.pinned_limit_bytes);
    context.pinned_pool = std::make_shared<Pool>(context.device_account);
    device.park = std::make_shared<RangePark>();
    // The park holds ranges, which hold the account: a weak pointer, or none of them would ever be
    // freed.
    context.device_account->set_trim_hook([weak = std::weak_ptr(device.park)] {
      if (auto const park = weak.lock()) unmap_parked(*park);
    });
    LeasedQueue const first(context);
  } catch (const Error& error) {
    *why_not = error.what();
    context.device.reset();
    context.device_account.reset();
    context.queues.most = 0;
    // A caller's allocator that has nothing is an error of its own, not a reason to use the CPU.
    if (error.status() == GPUJOIN_ERROR_OUT_OF_MEMORY ||
        error.status() == GPUJOIN_ERROR_MEMORY_LIMIT)
      throw;
    return false;
  }
  return true;
}

CurrentDevice::CurrentDevice(const Context& context) {
  if (!context.is_cuda()) return;
  int current = -1;
  check(cudaGetDevice(&current), "asking for the current device");
  if (current == context.device->id) return;
  check(cudaSetDevice(context.device->id), "making the context's device current");
  previous_ = current;
}

CurrentDevice::~CurrentDevice() {
  if (previous_ >= 0) cudaSetDevice(previous_);
}

}  // namespace gpujoin::base
