// copy_streams_cuda.cpp: streams for copies beside the queue's own, and the events between them.
#include "src/base/device.hpp"

namespace gpujoin::base {

cudaStream_t copy_stream(Queue& queue, Direction direction) {
  std::shared_ptr<Stream>& stream = queue.device->copy_streams[static_cast<size_t>(direction)];
  if (stream == nullptr) {
    auto made = std::make_shared<Stream>();
    made->device_id = queue.context.device->id;
    check(cudaStreamCreateWithFlags(&made->handle, cudaStreamNonBlocking),
          "creating a copy stream");
    made->owned = true;
    stream = std::move(made);
  }
  return stream->handle;
}

Event::Event(bool asleep) {
  unsigned const flags = cudaEventDisableTiming | (asleep ? cudaEventBlockingSync : 0U);
  check(cudaEventCreateWithFlags(&event_, flags), "creating an event");
}

Event::~Event() { cudaEventDestroy(event_); }

void Event::record(cudaStream_t stream) { check(try_record(stream), "recording an event"); }

void Event::hold(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, event_, 0), "making a stream wait for another one");
}

cudaError_t Event::try_record(cudaStream_t stream) noexcept {
  return cudaEventRecord(event_, stream);
}

cudaError_t Event::try_wait() const noexcept { return cudaEventSynchronize(event_); }

void put_in_order(const Stream& earlier, const Stream& later) {
  if (earlier.handle == later.handle) return;
  Event reached;
  reached.record(earlier.handle);
  reached.hold(later.handle);
}

}  // namespace gpujoin::base
