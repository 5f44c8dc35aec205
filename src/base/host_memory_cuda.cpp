#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "src/base/host_memory.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

// [begin, end) as numbers, so that ranges can be compared.
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

Range range_of(const void* pointer, uint64_t bytes) {
  auto const begin = reinterpret_cast<uintptr_t>(pointer);
  return {begin, begin + bytes};
}

cudaMemoryType type_at(uintptr_t address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, reinterpret_cast<const void*>(address)),
        "asking where a pointer points");
  return attributes.type;
}

// The first and the last byte may be pinned with a hole between: the driver says where the range
// ends.
bool is_one_pinned_range(const DriverFunctions& driver, const Range& range) {
  if (type_at(range.begin) != cudaMemoryTypeHost || type_at(range.end - 1) != cudaMemoryTypeHost ||
      driver.pointer_get_attribute == nullptr) {
    return false;
  }
  CUdeviceptr start = 0;
  size_t size = 0;
  return driver.pointer_get_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, range.begin) ==
             CUDA_SUCCESS &&
         driver.pointer_get_attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, range.begin) ==
             CUDA_SUCCESS &&
         start <= range.begin && range.end <= start + size;
}

// Pages registered by this process, whichever context asked: CUDA knows one registration of a page,
// and two joins may read neighbouring columns.
class RegisteredPages {
 public:
  static RegisteredPages& of_the_process() {
    // Never destroyed: contexts may outlive statics.
    static auto* const pages = new RegisteredPages;
    return *pages;
  }

  // One more owner of each page of the range, or none and false.
  bool acquire(const Range& range, std::vector<uintptr_t>* held) {
    std::lock_guard const lock(mutex_);
    uintptr_t at = range.begin;
    while (at < range.end) {
      held->reserve(held->size() + 1);  // what is acquired must be on the list of what to release
      auto next = pieces_.upper_bound(at);
      if (next != pieces_.begin() && std::prev(next)->second.end > at) --next;
      bool const here = next != pieces_.end() && next->first <= at;
      if (!here) {
        uintptr_t const gap_end =
            next == pieces_.end() ? range.end : std::min(range.end, next->first);
        next = pieces_.emplace(at, Piece{gap_end, 0}).first;
        cudaError_t const code =
            cudaHostRegister(reinterpret_cast<void*>(at), gap_end - at, cudaHostRegisterDefault);
        if (code != cudaSuccess) {
          cudaGetLastError();
          pieces_.erase(next);
          release_locked(*held);
          held->clear();
          return false;
        }
      }
      held->push_back(next->first);
      ++next->second.owners;
      at = next->second.end;
    }
    return true;
  }

  void release(const std::vector<uintptr_t>& held) {
    std::lock_guard const lock(mutex_);
    release_locked(held);
  }

  // A page of ours may be let go of by another join while this one still reads it.
  bool pinned_by_others(const DriverFunctions& driver, const Range& range) {
    std::lock_guard const lock(mutex_);
    auto const next = pieces_.lower_bound(range.end);
    bool const ours = next != pieces_.begin() && std::prev(next)->second.end > range.begin;
    return !ours && is_one_pinned_range(driver, range);
  }

 private:
  struct Piece {
    uintptr_t end = 0;
    uint64_t owners = 0;
  };

  void release_locked(const std::vector<uintptr_t>& held) {
    for (uintptr_t const begin : held) {
      auto const piece = pieces_.find(begin);
      if (--piece->second.owners != 0) continue;
      cudaHostUnregister(reinterpret_cast<void*>(begin));
      cudaGetLastError();
      pieces_.erase(piece);
    }
  }

  std::mutex mutex_;
  std::map<uintptr_t, Piece> pieces_;  // by first byte; none overlap
};

struct HeldPages {
  std::vector<uintptr_t> pieces;
  ~HeldPages() { RegisteredPages::of_the_process().release(pieces); }
};

}  // namespace

bool is_pinned(Context& context, const void* pointer, uint64_t bytes) {
  Range const range = range_of(pointer, bytes);
  if (bytes == 0 || type_at(range.begin) == cudaMemoryTypeManaged) return true;
  return RegisteredPages::of_the_process().pinned_by_others(context.device->driver, range);
}

bool is_managed(Context&, const void* pointer) {
  return type_at(reinterpret_cast<uintptr_t>(pointer)) == cudaMemoryTypeManaged;
}

std::shared_ptr<const void> register_pages(Context& context, const void* pointer, uint64_t bytes) {
  if (is_pinned(context, pointer, bytes)) return {std::make_shared<HeldPages>(), pointer};
  auto const page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  Range range = range_of(pointer, bytes);
  range.begin = range.begin / page * page;
  range.end = (range.end + page - 1) / page * page;
  auto held = std::make_shared<HeldPages>();
  if (!RegisteredPages::of_the_process().acquire(range, &held->pieces)) return nullptr;
  return {std::move(held), pointer};
}

void check_managed_memory(const Context& context) {
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, context.device->id),
        "asking for a device attribute");
  if (concurrent == 0) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "options.transfer: %s cannot page managed memory on this platform",
         context.facts.name.c_str());
  }
  if (!context.device_account->source().gives_managed_memory()) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "options.transfer: managed memory does not come from the caller's allocator");
  }
}

uint64_t free_device_bytes() {
  size_t free = 0;
  size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the device's free memory");
  return free;
}

namespace {

void prefetch(const void* pointer, uint64_t bytes, cudaMemLocationType type, int id,
              cudaStream_t stream) {
  cudaMemLocation location{};
  location.type = type;
  location.id = id;
  check(cudaMemPrefetchAsync(pointer, bytes, location, 0, stream), "prefetching managed memory");
}

}  // namespace

void prefetch_to_device(Context& context, const void* pointer, uint64_t bytes,
                        cudaStream_t stream) {
  prefetch(pointer, bytes, cudaMemLocationTypeDevice, context.device->id, stream);
}

void prefetch_to_host(const void* pointer, uint64_t bytes, cudaStream_t stream) {
  prefetch(pointer, bytes, cudaMemLocationTypeHost, 0, stream);
}

}  // namespace gpujoin::base
