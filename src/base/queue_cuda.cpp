// queue_cuda.cpp: the CUDA half of a queue: its stream and scratch, and how the host hears of
// kernels.
#include "src/base/queue.hpp"

#include <atomic>
#include <thread>

#include "src/base/device.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

void open_queue(Queue& queue) {
  Device const& device = *queue.context.device;
  auto made = std::make_shared<CudaQueue>();
  made->stream = std::make_shared<Stream>();
  made->stream->device_id = device.id;
  made->stream->handle = device.caller_stream;
  if (device.caller_stream == nullptr) {
    check(cudaStreamCreateWithFlags(&made->stream->handle, cudaStreamNonBlocking),
          "creating a stream");
    made->stream->owned = true;
  }
  queue.device_pool = std::make_shared<Pool>(queue.context.device_account, made->stream);
  Pool& pool = *queue.device_pool;
  made->readback = pool.allocate(Memory::kPinned, kReadbackBytes, "the read-back buffer");
  made->counters = pool.allocate(Memory::kDevice, kCounterBytes, "the counters");
  made->zeroed = pool.allocate(Memory::kDevice, kZeroedBytes, "zeroed counters");
  check(cudaMemsetAsync(made->zeroed.data(), 0, kZeroedBytes, made->stream->handle),
        "clearing the zeroed counters");
  queue.device = std::move(made);
}

void await(Queue& queue, void* event) {
  if (event == nullptr) return;
  check(cudaStreamWaitEvent(stream_of(queue), *static_cast<cudaEvent_t*>(event), 0),
        "waiting for an imported array");
}

void drain_queue(Queue& queue) noexcept {
  if (queue.device == nullptr) return;
  // A failure here is a lost device, which the next checked call reports.
  cudaStreamSynchronize(queue.device->stream->handle);
  cudaGetLastError();
}

ZeroedCounts::ZeroedCounts(Queue& queue, uint64_t bytes) : queue_(*queue.device) {
  if (bytes > kZeroedBytes) {
    fail(GPUJOIN_ERROR_INTERNAL, "%llu bytes of counters to keep at 0",
         static_cast<unsigned long long>(bytes));
  }
  if (queue_.zeroed_is_dirty) {
    check(cudaMemsetAsync(queue_.zeroed.data(), 0, kZeroedBytes, stream_of(queue)),
          "clearing the zeroed counters");
  }
  queue_.zeroed_is_dirty = true;
}

const void* read_back(Queue& queue, const void* device_source, uint64_t bytes) {
  void* target = queue.device->readback.data();
  check(cudaMemcpyAsync(target, device_source, bytes, cudaMemcpyDeviceToHost, stream_of(queue)),
        "reading a kernel's counters");
  check(cudaStreamSynchronize(stream_of(queue)), "waiting for the queue's stream");
  return target;
}

unsigned long long* start_answer(Queue& queue) {
  auto* const answer = queue.device->readback.as<unsigned long long>();
  std::atomic_ref(*answer).store(0, std::memory_order_relaxed);
  return answer;
}

unsigned long long await_answer(Queue& queue) {
  // A stream that failed never answers. Asking it takes as long as many looks at the answer.
  constexpr uint32_t kLooks = 1U << 14;
  std::atomic_ref const answer(*queue.device->readback.as<unsigned long long>());
  for (;;) {
    for (uint32_t look = 0; look < kLooks; ++look) {
      if (auto const given = answer.load(std::memory_order_acquire); given != 0) return given;
    }
    cudaError_t const code = cudaStreamQuery(stream_of(queue));
    if (code == cudaErrorNotReady) {
      cudaGetLastError();
      std::this_thread::yield();  // the join may take long, and others may want the core
      continue;
    }
    // Nobody may answer once the next join waits.
    if (code != cudaSuccess) cudaStreamSynchronize(stream_of(queue));
    check(code, "waiting for a kernel's answer");
    if (auto const given = answer.load(std::memory_order_acquire); given != 0) return given;
    fail(GPUJOIN_ERROR_INTERNAL, "a kernel ended without its answer");
  }
}

}  // namespace gpujoin::base
