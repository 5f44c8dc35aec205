// copy_ring_cuda.cpp: large copies from the device into pageable host memory.
//
// CUDA copies into such memory at a fraction of the link's rate, one call at a time for the whole
// process. Through a few page-locked pieces it goes at the rate at which threads copy from these:
// page-locking all of the target first costs ten times what the copy does.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kPieceBytes = uint64_t{2} << 20;
constexpr uint64_t kBytesOfThread = uint64_t{8} << 20;
constexpr uint64_t kMostThreads = 8;

class CopyEvent {
 public:
  CopyEvent() {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
  }
  ~CopyEvent() { cudaEventDestroy(event_); }
  CopyEvent(const CopyEvent&) = delete;
  CopyEvent& operator=(const CopyEvent&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
  void wait() { check(cudaEventSynchronize(event_), "waiting for a copy"); }

 private:
  cudaEvent_t event_ = nullptr;
};

// One thread's share: it waits for a piece of its own, and copies it on while others' are copied.
class RingCopy {
 public:
  RingCopy(Queue& queue, void* target, const void* source, uint64_t bytes)
      : queue_(queue),
        target_(static_cast<std::byte*>(target)),
        source_(static_cast<const std::byte*>(source)),
        bytes_(bytes) {}

  void run(uint64_t threads) {
    {
      std::vector<std::jthread> others;
      for (uint64_t i = 1; i < threads; ++i) others.emplace_back([this] { copy_pieces(false); });
      copy_pieces(true);
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    queue_.check_cancelled();
  }

 private:
  // The first goes on without a piece, by CUDA's own copies, where pinned memory has no room.
  void copy_pieces(bool is_first) noexcept {
    try {
      check(cudaSetDevice(queue_.context.device->id), "making the context's device current");
      Buffer const piece = queue_.device_pool->try_allocate(Memory::kPinned, kPieceBytes);
      if (!piece && !is_first) return;
      CopyEvent copied;
      for (uint64_t at = next(); at < bytes_ && !queue_.is_cancelled(); at = next()) {
        uint64_t const count = std::min(kPieceBytes, bytes_ - at);
        void* const to = piece ? piece.data() : target_ + at;
        check(cudaMemcpyAsync(to, source_ + at, count, cudaMemcpyDefault, stream_of(queue_)),
              "copying from the device");
        copied.record(stream_of(queue_));
        copied.wait();
        if (piece) std::memcpy(target_ + at, piece.data(), count);
      }
    } catch (...) {
      std::lock_guard const lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }
  uint64_t next() { return next_.fetch_add(kPieceBytes); }

  Queue& queue_;
  std::byte* target_;
  const std::byte* source_;
  uint64_t bytes_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void copy_through_ring(Queue& queue, void* target, const void* source, uint64_t bytes) {
  auto const cores = static_cast<uint64_t>(std::max(queue.context.cpu_threads, 1));
  uint64_t const threads = std::clamp<uint64_t>(bytes / kBytesOfThread, 2, kMostThreads);
  RingCopy(queue, target, source, bytes).run(std::min(threads, std::max<uint64_t>(cores, 2)));
}

}  // namespace gpujoin::base
