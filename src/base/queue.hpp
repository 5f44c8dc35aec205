// queue.hpp: what one call at a time works with: its stream, its pools, what is read back by it.
//
// A context has any number of queues. A call takes one that is idle, or a new one, and hands it
// back at its end, so calls on one context run side by side. With a stream of the caller's there is
// one queue, for which calls wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "src/base/context.hpp"
#include "src/base/interrupt.hpp"
#include "src/base/memory.hpp"

namespace gpujoin::base {

// The CUDA half (stream, events, scratch): defined in src/base/device.hpp, absent on a CPU context.
struct CudaQueue;
// Threads of the CPU executor: defined in src/cpu/workers.cpp.
struct CpuThreads;

struct Queue {
  // Throws what making a stream and its scratch does. Blocking: page-locking takes a millisecond.
  explicit Queue(Context& context);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Context& context;
  std::shared_ptr<Pool> host_pool;    // of the CPU executor
  std::shared_ptr<Pool> device_pool;  // device and pinned memory; null on a CPU context
  std::shared_ptr<CudaQueue> device;  // null on a CPU context
  // Null until something runs in parallel. Kept from loop to loop: threads that still look for work
  // when the next one begins need not be woken.
  std::shared_ptr<CpuThreads> cpu_threads;

  CallEnd end;  // of the call that works with it

  // Someone asked the calls of this context to stop, or this call, or its time is over. Any thread.
  bool is_cancelled() const;
  // Throws CANCELLED or DEADLINE then; that answers the request. Executors call it between steps.
  void check_cancelled();
  // Reports progress and checks for cancellation.
  void step(const char* stage, int64_t done, int64_t total);

 private:
  friend class LeasedQueue;
  uint64_t answered_ = 0;  // requests to cancel that came before this call and were answered
};

// A queue for as long as this lives. The context outlives it.
class LeasedQueue {
 public:
  // May wait where the context has a stream of the caller's, until the call's end. Throws what
  // making a queue does, CANCELLED, DEADLINE.
  explicit LeasedQueue(Context& context, CallEnd end = {});
  // After an exception waits for the stream: what a call that failed has queued reads memory of
  // others, who know of no reader once the call is over.
  ~LeasedQueue();
  LeasedQueue(const LeasedQueue&) = delete;
  LeasedQueue& operator=(const LeasedQueue&) = delete;

  Queue& operator*() const { return *queue_; }
  Queue* operator->() const { return queue_.get(); }

 private:
  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Queue> queue_;
};

// Idle queues but one go, with their streams and scratch.
void drop_idle_queues(Context& context);

}  // namespace gpujoin::base
