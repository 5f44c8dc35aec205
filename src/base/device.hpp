// device.hpp: the CUDA half of a context and of its queues, and the checks that every CUDA call
// goes through.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::base {

// Throws Error with the status that the code means; `doing` completes "while ...". Clears the
// thread's last error.
void check(cudaError_t code, const char* doing);
void check(CUresult code, const char* doing);

// Driver functions, looked up through cudart, so that nothing links libcuda. Null members: virtual
// memory management is missing.
struct DriverFunctions {
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*mem_address_reserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr,
                                  unsigned long long) = nullptr;
  CUresult (*mem_address_free)(CUdeviceptr, size_t) = nullptr;
  CUresult (*mem_create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                         unsigned long long) = nullptr;
  CUresult (*mem_release)(CUmemGenericAllocationHandle) = nullptr;
  CUresult (*mem_map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                      unsigned long long) = nullptr;
  CUresult (*mem_unmap)(CUdeviceptr, size_t) = nullptr;
  CUresult (*mem_set_access)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) = nullptr;
  CUresult (*mem_get_granularity)(size_t*, const CUmemAllocationProp*,
                                  CUmemAllocationGranularity_flags) = nullptr;
  CUresult (*pointer_get_attribute)(void*, CUpointer_attribute, CUdeviceptr) = nullptr;
  bool can_map_pages() const;
};

// A stream, owned or the caller's. Shared with the memory source, which frees device memory in
// stream order.
struct Stream {
  cudaStream_t handle = nullptr;
  bool owned = false;
  int device_id = 0;
  ~Stream();
};

struct RangePark;  // mapped_range.hpp

// As asked once: asking takes a microsecond.
struct ResidentBlocks {
  const void* kernel;
  int threads;
  uint64_t shared_bytes;
  uint32_t blocks;  // of all multiprocessors
};

struct Device {
  int id = 0;
  cudaStream_t caller_stream = nullptr;  // the one stream to use, where the caller named it
  DriverFunctions driver;
  uint64_t page_bytes = 0;  // granularity of mapped pages; 0: growing output is a list of blocks
  std::shared_ptr<RangePark> park;  // mapped ranges that nothing uses
};

struct CudaQueue {
  std::shared_ptr<Stream> stream;
  Buffer readback;  // pinned, kReadbackBytes: small results of kernels land here
  Buffer counters;  // device, kCounterBytes: the counters that kernels write
  Buffer zeroed;    // device, kZeroedBytes, all 0 between launches: see ZeroedCounts
  bool zeroed_is_dirty = false;
  std::vector<ResidentBlocks> resident;
  std::vector<const void*> large_shared;  // kernels that may have all shared memory there is
  std::optional<bool> has_code_of_9_0;
  std::vector<cudaEvent_t> events;  // reused by stage timing
  // By Direction; made on first use. Idle between joins: who queues on them drains them.
  std::array<std::shared_ptr<Stream>, 2> copy_streams;
  ~CudaQueue();
};

constexpr uint64_t kReadbackBytes = 64 * 1024;
constexpr uint64_t kZeroedBytes = 256 * 1024;   // a count of each of 2^16 partitions
constexpr uint64_t kCounterBytes = 192 * 1024;  // a key sample's table, filter and counters

// The zeroed counters, for kernels of which the last leaves them 0 again: nobody waits for a
// clearing before the first. Where one was not launched the next who asks for them clears them.
class ZeroedCounts {
 public:
  ZeroedCounts(Queue& queue, uint64_t bytes);
  template <typename T>
  T* as() const {
    return queue_.zeroed.as<T>();
  }
  void all_launched() { queue_.zeroed_is_dirty = false; }

 private:
  CudaQueue& queue_;
};

// Copies `bytes` (at most kReadbackBytes) from device memory and waits for the stream.
const void* read_back(Queue& queue, const void* device_source, uint64_t bytes);
template <typename T>
T read_back(Queue& queue, const T* device_source) {
  return *static_cast<const T*>(read_back(queue, device_source, sizeof(T)));
}

// A kernel's answer, of which one word, not 0, is written after a fence of the system as its last:
// the host sees it some microseconds before the stream would tell, and needs no copy. start_answer
// before the launch; nothing else may be read back between the two. The kernel may still be on its
// way out, so that what follows belongs on the stream.
unsigned long long* start_answer(Queue& queue);
unsigned long long await_answer(Queue& queue);

// Lets the queue's stream wait for a cudaEvent_t*, as Arrow's sync_event is; null: nothing to
// wait for.
void await(Queue& queue, void* event);

inline cudaStream_t stream_of(const Queue& queue) { return queue.device->stream->handle; }

// Copies that run beside the queue's stream have a stream for each direction of the host link.
// Blocks of the pool are reused in the order of the queue's stream, so each side waits for the
// other by events: a copy for the earlier users of its block, the queue's stream for the copy. See
// docs/decisions/0016-transfers.md.
enum class Direction { kToDevice, kFromDevice };
cudaStream_t copy_stream(Queue& queue, Direction direction);

// An event without timing. Waiting for one that was never recorded is no wait.
class Event {
 public:
  // asleep: hosts that wait leave the core to others, and wake up some tens of microseconds later.
  explicit Event(bool asleep = true);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream);
  void hold(cudaStream_t stream) const;  // the stream waits for what was recorded
  // For threads that must not throw.
  cudaError_t try_record(cudaStream_t stream) noexcept;
  cudaError_t try_wait() const noexcept;

 private:
  cudaEvent_t event_ = nullptr;
};

// What `later` is given from here on comes after what `earlier` has been given.
void put_in_order(const Stream& earlier, const Stream& later);

}  // namespace gpujoin::base
