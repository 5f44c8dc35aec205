// own_queue.hpp: a context of a test's own, with one of its queues taken.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gpujoin.h"
#include "src/base/queue.hpp"

namespace gpujoin::tests {

class OwnQueue {
 public:
  OwnQueue() = default;  // none
  // Throws what base::create_context does.
  explicit OwnQueue(const gpujoin_context_options& options)
      : OwnQueue(base::create_context(options)) {}
  // Another queue of a context that is there.
  explicit OwnQueue(std::shared_ptr<base::Context> context)
      : context_(std::move(context)), queue_(std::make_unique<base::LeasedQueue>(*context_)) {}
  OwnQueue(OwnQueue&&) = default;
  OwnQueue& operator=(OwnQueue&& other) noexcept {
    queue_ = std::move(other.queue_);  // before the context that it is of
    context_ = std::move(other.context_);
    return *this;
  }

  bool operator==(std::nullptr_t) const { return queue_ == nullptr; }
  // Stages take it as it is.
  operator base::Queue&() const { return **queue_; }
  base::Queue& operator*() const { return **queue_; }
  base::Queue* operator->() const { return &**queue_; }
  const std::shared_ptr<base::Context>& context() const { return context_; }

 private:
  std::shared_ptr<base::Context> context_;
  std::unique_ptr<base::LeasedQueue> queue_;
};

}  // namespace gpujoin::tests
