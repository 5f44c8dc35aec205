#include "src/base/queue.hpp"

#include <iterator>
#include <utility>
#include <vector>

#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

// How long who waits for a queue does not ask whether its call is over.
constexpr auto kWaitStep = std::chrono::milliseconds(10);

}  // namespace

#if GPUJOIN_WITH_CUDA
// In queue_cuda.cpp.
void open_queue(Queue& queue);
void drain_queue(Queue& queue) noexcept;
#else
static void drain_queue(Queue&) noexcept {}
#endif

CallEnd::Clock::time_point deadline_in(int64_t milliseconds) {
  auto const now = CallEnd::Clock::now();
  auto const never = CallEnd::Clock::time_point::max();
  if (milliseconds <= 0) return never;
  auto const most = std::chrono::duration_cast<std::chrono::milliseconds>(never - now);
  if (milliseconds >= most.count()) return never;
  return now + std::chrono::milliseconds(milliseconds);
}

void CallEnd::check() const {
  if (is_cancelled()) fail(GPUJOIN_ERROR_CANCELLED, "cancelled by the cancel call of its object");
  if (is_late()) fail(GPUJOIN_ERROR_DEADLINE, "options.timeout_milliseconds are over");
}

Queue::Queue(Context& of)
    : context(of), host_pool(std::make_shared<Pool>(of.host_account)), answered_(of.answered) {
#if GPUJOIN_WITH_CUDA
  if (of.is_cuda()) open_queue(*this);
#endif
}

Queue::~Queue() = default;

bool Queue::is_cancelled() const {
  return context.cancels.load(std::memory_order_relaxed) != answered_ || end.is_over();
}

void Queue::check_cancelled() {
  end.check();
  // Not is_cancelled(): the end of this call may come in between, and is no cancel of the context.
  if (context.cancels.load(std::memory_order_relaxed) == answered_) return;
  // Every call that runs sees the request; one that begins later does not. Another call may have
  // answered a later one meanwhile.
  uint64_t const seen = context.cancels.load();
  uint64_t before = context.answered.load();
  while (before < seen && !context.answered.compare_exchange_weak(before, seen)) {
  }
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

LeasedQueue::LeasedQueue(Context& context, CallEnd end) {
  // Before any wait: a request that comes during it is meant for this call, too.
  uint64_t const answered = context.answered.load();
  Queues& all = context.queues;
  {
    std::unique_lock lock(all.mutex);
    auto const is_there = [&] { return !all.idle.empty() || all.most == 0 || all.made < all.most; };
    while (!all.handed_back.wait_for(lock, kWaitStep, is_there)) end.check();
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
  queue_->answered_ = answered;
  queue_->end = std::move(end);
  queue_->host_pool->set_idle(false);
  if (queue_->device_pool != nullptr) queue_->device_pool->set_idle(false);
}

LeasedQueue::~LeasedQueue() {
  if (std::uncaught_exceptions() > exceptions_) drain_queue(*queue_);
  queue_->end = CallEnd();
  queue_->host_pool->set_idle(true);
  if (queue_->device_pool != nullptr) queue_->device_pool->set_idle(true);
  Queues& all = queue_->context.queues;
  std::lock_guard const lock(all.mutex);
  all.idle.push_back(std::move(queue_));
  all.handed_back.notify_one();
}

void drop_idle_queues(Context& context) {
  Queues& all = context.queues;
  std::vector<std::unique_ptr<Queue>> dropped;
  std::lock_guard const lock(all.mutex);
  if (all.idle.size() < 2) return;
  dropped.reserve(all.idle.size() - 1);
  auto const last = all.idle.end() - 1;  // the warm one
  std::move(all.idle.begin(), last, std::back_inserter(dropped));
  all.idle.erase(all.idle.begin(), last);
  all.made -= dropped.size();
}

}  // namespace gpujoin::base
