// device_memory.hpp: device memory for tests of the C ABI, by the driver alone: the tests link no
// CUDA.
#pragma once

#include <cstdint>
#include <vector>

namespace gpujoin_test {

// Memory of device 0, in the context that the library uses too. Throws std::runtime_error.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t bytes);
  explicit DeviceMemory(const std::vector<uint8_t>& contents);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* get() const { return reinterpret_cast<void*>(address_); }
  std::vector<uint8_t> contents() const;

 private:
  unsigned long long address_ = 0;
  uint64_t bytes_;
};

// `bytes` bytes of device memory at `address`.
std::vector<uint8_t> download(const void* address, uint64_t bytes);

// For an allocator of the caller's: device memory, or page-locked host memory. Null when there is
// none.
void* allocate_on_device(uint64_t bytes);
void free_on_device(void* pointer);
void* allocate_pinned(uint64_t bytes);
void free_pinned(void* pointer);

// An event that has been recorded, as a producer of device arrays hands it over.
class RecordedEvent {
 public:
  RecordedEvent();
  ~RecordedEvent();
  RecordedEvent(const RecordedEvent&) = delete;
  RecordedEvent& operator=(const RecordedEvent&) = delete;
  void* get() { return &event_; }  // a cudaEvent_t*

 private:
  void* event_ = nullptr;
};

// A stream of the caller's, for gpujoin_context_options.
class CallerStream {
 public:
  CallerStream();
  ~CallerStream();
  CallerStream(const CallerStream&) = delete;
  CallerStream& operator=(const CallerStream&) = delete;
  void* get() const { return stream_; }  // a cudaStream_t

 private:
  void* stream_ = nullptr;
};

}  // namespace gpujoin_test
