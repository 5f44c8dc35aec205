// uploads.cpp: copies on a stream of their own, pageable memory through page-locked pieces
//
// Paper    the second stream of Rui & Tu 2017, section 3.4, figure 6, and of Paul et al. 2020,
//          IV.A.2, figure 2; pieces of pinned memory: Lin & Liao 2025, section 4.2. Differs:
//          several threads fill the pieces, and the pool keeps them between joins
// Moves    |source| over the host link; of pageable memory also twice over the host's memory bus
//          (traffic::staged_copy)
#include "src/transfer/uploads.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/tuning.hpp"
#include "src/base/copy.hpp"
#include "src/base/host_memory.hpp"

namespace gpujoin::transfer {

using kernels::kStagingPieceBytes;
using kernels::kStagingSlots;

Uploads::Uploads(base::Queue& queue)
    : queue_(queue), stream_(base::copy_stream(queue, base::Direction::kToDevice)) {}

Uploads::~Uploads() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
  // A failure here is a lost device, which the next checked call reports.
  cudaStreamSynchronize(stream_);
  cudaGetLastError();
}

uint64_t Uploads::copy(const std::vector<Segment>& segments) {
  // The targets may be blocks that queued work of the queue's stream still uses.
  blocks_free_.record(base::stream_of(queue_));
  blocks_free_.hold(stream_);
  auto made = std::make_unique<Copy>();
  Copy* const copy = made.get();
  uint64_t const number = ++last_number_;
  {
    std::lock_guard const lock(mutex_);
    copies_.emplace(number, std::move(made));
    ++copy->unqueued;  // this function's share, so that no thread finds the copy complete early
  }
  for (Segment const& segment : segments) {
    if (segment.bytes == 0) continue;
    if (base::is_pinned(queue_.context, segment.source, segment.bytes)) {
      base::check(cudaMemcpyAsync(segment.target, segment.source, segment.bytes, cudaMemcpyDefault,
                                  stream_),
                  "copying to the device");
    } else {
      stage(segment, copy);
    }
  }
  bool waiting = false;
  {
    std::lock_guard const lock(mutex_);
    if (--copy->unqueued == 0) copy->arrived.record(stream_);
    waiting = !pieces_.empty();
  }
  if (waiting) start_threads();
  return number;
}

void Uploads::stage(const Segment& segment, Copy* copy) {
  // What the queue's stream has queued may be what writes the source.
  if (!sources_ready_) base::finish(queue_);
  sources_ready_ = true;
  auto* target = static_cast<std::byte*>(segment.target);
  auto const* source = static_cast<const std::byte*>(segment.source);
  std::lock_guard const lock(mutex_);
  for (uint64_t at = 0; at < segment.bytes; at += kStagingPieceBytes) {
    uint64_t const bytes = std::min(kStagingPieceBytes, segment.bytes - at);
    pieces_.push_back({copy, target + at, source + at, bytes});
    ++copy->unqueued;
  }
}

void Uploads::start_threads() {
  size_t wanted = 0;
  {
    std::lock_guard const lock(mutex_);
    wanted = pieces_.size();
  }
  wanted = std::min({wanted, static_cast<size_t>(std::max(queue_.context.cpu_threads, 1)),
                     static_cast<size_t>(kernels::kStagingThreads)});
  while (threads_.size() < wanted) {
    base::Buffer staging =
        queue_.device_pool->try_allocate(base::Memory::kPinned, kStagingPieceBytes * kStagingSlots);
    // CUDA's own copies of pageable memory come one after the other.
    if (!staging && !threads_.empty()) break;
    Worker& worker = workers_.emplace_back();
    worker.staging = std::move(staging);
    threads_.emplace_back([this, &worker](const std::stop_token& stop) { work(stop, worker); });
  }
  work_to_do_.notify_all();
}

bool Uploads::next_piece(const std::stop_token& stop, Piece* piece) {
  std::unique_lock lock(mutex_);
  if (!work_to_do_.wait(lock, stop, [this] { return !pieces_.empty(); })) return false;
  if (stop.stop_requested()) return false;
  *piece = pieces_.front();
  pieces_.pop_front();
  return true;
}

void Uploads::work(const std::stop_token& stop, Worker& worker) {
  cudaError_t code = cudaSetDevice(queue_.context.device->id);
  Piece piece;
  for (size_t slot = 0; next_piece(stop, &piece); slot = (slot + 1) % kStagingSlots) {
    const std::byte* from = piece.source;
    if (worker.staging) {
      std::byte* const staged = worker.staging.as<std::byte>() + slot * kStagingPieceBytes;
      if (code == cudaSuccess) code = worker.sent[slot].try_wait();
      if (code == cudaSuccess) std::memcpy(staged, piece.source, piece.bytes);
      from = staged;
    }
    if (code == cudaSuccess) {
      code = cudaMemcpyAsync(piece.target, from, piece.bytes, cudaMemcpyHostToDevice, stream_);
    }
    if (code == cudaSuccess) code = worker.sent[slot].try_record(stream_);
    std::lock_guard const lock(mutex_);
    if (--piece.copy->unqueued == 0 && code == cudaSuccess) {
      code = piece.copy->arrived.try_record(stream_);
    }
    if (code != cudaSuccess && failure_ == cudaSuccess) failure_ = code;
    if (piece.copy->unqueued == 0 || code != cudaSuccess) queued_.notify_all();
  }
}

void Uploads::await(uint64_t number, base::Queue& reader) {
  std::unique_lock lock(mutex_);
  auto const found = copies_.find(number);
  if (found == copies_.end()) return;
  Copy& copy = *found->second;
  // Pieces take well under a millisecond each; the request to cancel is looked for that often.
  while (copy.unqueued != 0 && failure_ == cudaSuccess) {
    queued_.wait_for(lock, std::chrono::milliseconds(5));
    if (copy.unqueued == 0) break;
    lock.unlock();
    reader.check_cancelled();
    lock.lock();
  }
  base::check(failure_, "copying through page-locked memory");
  copy.arrived.hold(base::stream_of(reader));
  copies_.erase(found);
}

}  // namespace gpujoin::transfer
