// copy_cuda.cpp: the device half of copy.hpp.
#include "src/base/device.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

void copy_on_device(Queue& queue, void* target, const void* source, uint64_t bytes) {
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream_of(queue)),
        "copying to or from the device");
}

void finish_device(Queue& queue) {
  check(cudaStreamSynchronize(stream_of(queue)), "waiting for the queue's stream");
}

Memory ask_cuda(Context& context, const void* pointer, const char* what) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "asking where a pointer points");
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      if (attributes.device != context.device->id) {
        fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s lies on CUDA device %d and the context uses %d",
             what, attributes.device, context.device->id);
      }
      return Memory::kDevice;
    case cudaMemoryTypeManaged:
      return Memory::kDevice;
    case cudaMemoryTypeHost:
      return Memory::kPinned;
    default:
      return Memory::kHost;
  }
}

}  // namespace gpujoin::base
