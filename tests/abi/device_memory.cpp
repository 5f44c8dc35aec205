#include "tests/abi/device_memory.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace gpujoin_test {

namespace {

// The few functions of the driver that are needed, as cuda.h declares them.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*allocate)(unsigned long long*, size_t) = nullptr;
  int (*free)(unsigned long long) = nullptr;
  int (*to_device)(unsigned long long, const void*, size_t) = nullptr;
  int (*to_host)(void*, unsigned long long, size_t) = nullptr;
  int (*allocate_pinned)(void**, size_t, unsigned) = nullptr;
  int (*free_pinned)(void*) = nullptr;
  int (*create_event)(void**, unsigned) = nullptr;
  int (*record_event)(void*, void*) = nullptr;
  int (*destroy_event)(void*) = nullptr;
  int (*create_stream)(void**, unsigned) = nullptr;
  int (*destroy_stream)(void*) = nullptr;
};

void check(int code, const char* doing) {
  if (code != 0) {
    throw std::runtime_error(std::string(doing) + ": CUresult " + std::to_string(code));
  }
}

template <typename Function>
void look_up(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr) throw std::runtime_error(std::string("libcuda has no ") + name);
}

const Driver& driver() {
  static const Driver loaded = [] {
    Driver functions;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error("no libcuda.so.1");
    look_up(library, "cuInit", &functions.init);
    look_up(library, "cuDevicePrimaryCtxRetain", &functions.retain);
    look_up(library, "cuCtxSetCurrent", &functions.set_current);
    look_up(library, "cuMemAlloc_v2", &functions.allocate);
    look_up(library, "cuMemFree_v2", &functions.free);
    look_up(library, "cuMemcpyHtoD_v2", &functions.to_device);
    look_up(library, "cuMemcpyDtoH_v2", &functions.to_host);
    look_up(library, "cuMemHostAlloc", &functions.allocate_pinned);
    look_up(library, "cuMemFreeHost", &functions.free_pinned);
    look_up(library, "cuEventCreate", &functions.create_event);
    look_up(library, "cuEventRecord", &functions.record_event);
    look_up(library, "cuEventDestroy_v2", &functions.destroy_event);
    look_up(library, "cuStreamCreate", &functions.create_stream);
    look_up(library, "cuStreamDestroy_v2", &functions.destroy_stream);
    check(functions.init(0), "cuInit");
    return functions;
  }();
  void* context = nullptr;
  check(loaded.retain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(loaded.set_current(context), "cuCtxSetCurrent");
  return loaded;
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t bytes) : bytes_(bytes) {
  check(driver().allocate(&address_, bytes == 0 ? 1 : bytes), "cuMemAlloc");
}

DeviceMemory::DeviceMemory(const std::vector<uint8_t>& contents) : DeviceMemory(contents.size()) {
  check(driver().to_device(address_, contents.data(), contents.size()), "cuMemcpyHtoD");
}

DeviceMemory::~DeviceMemory() { driver().free(address_); }

std::vector<uint8_t> DeviceMemory::contents() const { return download(get(), bytes_); }

std::vector<uint8_t> download(const void* address, uint64_t bytes) {
  std::vector<uint8_t> host(bytes);
  check(driver().to_host(host.data(), reinterpret_cast<unsigned long long>(address), bytes),
        "cuMemcpyDtoH");
  return host;
}

void* allocate_on_device(uint64_t bytes) {
  unsigned long long address = 0;
  return driver().allocate(&address, bytes) == 0 ? reinterpret_cast<void*>(address) : nullptr;
}

void free_on_device(void* pointer) {
  check(driver().free(reinterpret_cast<unsigned long long>(pointer)), "cuMemFree");
}

void* allocate_pinned(uint64_t bytes) {
  void* pointer = nullptr;
  return driver().allocate_pinned(&pointer, bytes, 0) == 0 ? pointer : nullptr;
}

void free_pinned(void* pointer) { check(driver().free_pinned(pointer), "cuMemFreeHost"); }

RecordedEvent::RecordedEvent() {
  check(driver().create_event(&event_, 2), "cuEventCreate");  // 2: no timing
  check(driver().record_event(event_, nullptr), "cuEventRecord");
}

RecordedEvent::~RecordedEvent() { driver().destroy_event(event_); }

CallerStream::CallerStream() {
  check(driver().create_stream(&stream_, 1), "cuStreamCreate");  // 1: beside the default stream
}

CallerStream::~CallerStream() { driver().destroy_stream(stream_); }

}  // namespace gpujoin_test
