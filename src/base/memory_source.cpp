// memory_source.cpp: host memory of the system, and whatever the caller's callbacks give.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/base/memory.hpp"

namespace gpujoin::base {

#if GPUJOIN_WITH_CUDA
void* cuda_stream_of(const Stream* stream);  // in device_cuda.cpp
#else
static void* cuda_stream_of(const Stream*) { return nullptr; }
#endif

namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

class HostSource final : public MemorySource {
 public:
  void* allocate(Memory, uint64_t bytes, const Stream*) override {
    bool const huge = bytes >= kHugePage;
    uint64_t const alignment = huge ? kHugePage : kAlignment;
    void* pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
    // First touch of a large block is half the cost of writing it with 4 KiB pages.
    if (huge && pointer != nullptr) madvise(pointer, bytes, MADV_HUGEPAGE);
#endif
    return pointer;
  }
  void deallocate(Memory, void* pointer, uint64_t, const Stream*) noexcept override {
    std::free(pointer);
  }
};

class CallerSource final : public MemorySource {
 public:
  CallerSource(const gpujoin_allocator& allocator, std::unique_ptr<MemorySource> device_bytes)
      : allocator_(allocator), device_bytes_(std::move(device_bytes)) {}
  void* allocate(Memory memory, uint64_t bytes, const Stream* stream) override {
    return allocator_.allocate(bytes, kAlignment, static_cast<gpujoin_memory>(memory),
                               cuda_stream_of(stream), allocator_.user);
  }
  void deallocate(Memory memory, void* pointer, uint64_t bytes,
                  const Stream* stream) noexcept override {
    allocator_.deallocate(pointer, bytes, static_cast<gpujoin_memory>(memory),
                          cuda_stream_of(stream), allocator_.user);
  }
  void put_in_order(const Stream* earlier, const Stream* later) override {
    if (device_bytes_ != nullptr) device_bytes_->put_in_order(earlier, later);
  }
  void fill(Memory memory, void* pointer, int value, uint64_t bytes,
            const Stream* stream) override {
    if (memory == Memory::kDevice) {
      return device_bytes_->fill(memory, pointer, value, bytes, stream);
    }
    MemorySource::fill(memory, pointer, value, bytes, stream);
  }
  bool is_filled(Memory memory, const void* pointer, int value, uint64_t bytes,
                 const Stream* stream) override {
    if (memory == Memory::kDevice) {
      return device_bytes_->is_filled(memory, pointer, value, bytes, stream);
    }
    return MemorySource::is_filled(memory, pointer, value, bytes, stream);
  }

 private:
  gpujoin_allocator allocator_;
  std::unique_ptr<MemorySource> device_bytes_;
};

}  // namespace

void MemorySource::fill(Memory, void* pointer, int value, uint64_t bytes, const Stream*) {
  std::memset(pointer, value, bytes);
}

bool MemorySource::is_filled(Memory, const void* pointer, int value, uint64_t bytes,
                             const Stream*) {
  auto const* first = static_cast<const unsigned char*>(pointer);
  return std::all_of(first, first + bytes, [value](unsigned char byte) { return byte == value; });
}

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

std::unique_ptr<MemorySource> make_caller_source(const gpujoin_allocator& allocator,
                                                 std::unique_ptr<MemorySource> device_bytes) {
  return std::make_unique<CallerSource>(allocator, std::move(device_bytes));
}

}  // namespace gpujoin::base
