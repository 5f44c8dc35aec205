#include "src/base/queue.hpp"

#include <utility>

#include "src/base/status.hpp"

namespace gpujoin::base {

#if GPUJOIN_WITH_CUDA
void open_queue(Queue& queue);  // in queue_cuda.cpp
#endif

Queue::Queue(Context& of)
    : context(of), host_pool(std::make_shared<Pool>(of.host_account)), answered_(of.answered) {
#if GPUJOIN_WITH_CUDA
  if (of.is_cuda()) open_queue(*this);
#endif
}

Queue::~Queue() = default;

bool Queue::is_cancelled() const {
  return context.cancels.load(std::memory_order_relaxed) != answered_;
}

void Queue::check_cancelled() {
  if (!is_cancelled()) return;
  // Every call that runs sees the request; one that begins later does not.
  context.answered.store(context.cancels.load());
  fail(GPUJOIN_ERROR_CANCELLED, "cancelled by gpujoin_context_cancel");
}

void Queue::step(const char* stage, int64_t done, int64_t total) {
  check_cancelled();
  if (context.progress_function != nullptr &&
      context.progress_function(stage, done, total, context.progress_user) != 0) {
    fail(GPUJOIN_ERROR_CANCELLED, "cancelled by the progress callback at %s", stage);
  }
}

namespace {

// Counted already; no longer where it cannot be made.
std::unique_ptr<Queue> make_counted(Context& context) {
  struct Place {
    Queues* all;
    ~Place() {
      if (all == nullptr) return;
      std::lock_guard const lock(all->mutex);
      --all->made;
      all->handed_back.notify_one();
    }
  } place{&context.queues};
  auto queue = std::make_unique<Queue>(context);
  place.all = nullptr;
  return queue;
}

}  // namespace

LeasedQueue::LeasedQueue(Context& context) {
  Queues& all = context.queues;
  {
    std::unique_lock lock(all.mutex);
    all.handed_back.wait(lock,
                         [&] { return !all.idle.empty() || all.most == 0 || all.made < all.most; });
    if (!all.idle.empty()) {
      queue_ = std::move(all.idle.back());
      all.idle.pop_back();
    } else {
      // Handing back must not allocate.
      all.idle.reserve(all.made + 1);
      ++all.made;
    }
  }
  if (queue_ == nullptr) queue_ = make_counted(context);
  queue_->answered_ = context.answered.load();
  queue_->host_pool->set_idle(false);
  if (queue_->device_pool != nullptr) queue_->device_pool->set_idle(false);
}

LeasedQueue::~LeasedQueue() {
  queue_->host_pool->set_idle(true);
  if (queue_->device_pool != nullptr) queue_->device_pool->set_idle(true);
  Queues& all = queue_->context.queues;
  std::lock_guard const lock(all.mutex);
  all.idle.push_back(std::move(queue_));
  all.handed_back.notify_one();
}

}  // namespace gpujoin::base
