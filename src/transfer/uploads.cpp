// uploads.cpp: copies on a stream of their own, pageable memory through page-locked pieces
//
// Paper    the second stream of Rui & Tu 2017, section 3.4, figure 6, and of Paul et al. 2020,
//          IV.A.2, figure 2; pieces of pinned memory: Lin & Liao 2025, section 4.2. Differs:
//          several threads fill the pieces, which calls hand on to each other
// Moves    |source| over the host link; of pageable memory also twice over the host's memory bus
//          (traffic::staged_copy)
#include "src/transfer/uploads.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/tuning.hpp"
#include "src/base/copy.hpp"
#include "src/base/copy_ring.hpp"
#include "src/base/copy_threads.hpp"
#include "src/base/copy_turns.hpp"
#include "src/base/host_memory.hpp"

namespace gpujoin::transfer {

Uploads::Uploads(base::Queue& queue)
    : queue_(queue), stream_(base::copy_stream(queue, base::Direction::kToDevice)) {}

Uploads::~Uploads() {
  first_ = {};  // stops and joins
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
  for (uint64_t at = 0; at < segment.bytes; at += base::kRingPieceBytes) {
    uint64_t const bytes = std::min(base::kRingPieceBytes, segment.bytes - at);
    pieces_.push_back({copy, target + at, source + at, bytes});
    ++copy->unqueued;
  }
}

void Uploads::start_threads() {
  std::lock_guard const lock(mutex_);
  if (is_led_) return;
  // One that was here before has nothing left to do, and asks for no lock.
  first_ = std::jthread([this](const std::stop_token& stop) { lead(stop); });
  is_led_ = true;
}

// With this lock the leader goes, or whoever brings pieces later finds it gone.
size_t Uploads::pieces_left(const std::stop_token& stop) {
  std::lock_guard const lock(mutex_);
  is_led_ = !pieces_.empty() && !stop.stop_requested() && failure_ == nullptr;
  return is_led_ ? pieces_.size() : 0;
}

void Uploads::lead(const std::stop_token& stop) noexcept {
  try {
    while (size_t const pieces = pieces_left(stop)) send_pieces(stop, pieces);
  } catch (...) {
    note_failure();
  }
}

void Uploads::send_pieces(const std::stop_token& stop, size_t pieces) {
  // Few pieces do not wait for others' large copies.
  std::optional<base::CopyTurn> turn;
  if (pieces >= kernels::kStagingThreads) {
    turn.emplace(queue_.context.device->id, true, [&] { return stop.stop_requested(); });
  }
  base::CopyThreads share;
  int32_t const cores = std::max(queue_.context.cpu_threads, 1);
  auto const wanted = static_cast<int32_t>(std::min<size_t>(pieces, kernels::kStagingThreads));
  int32_t const threads = share.take(std::min(wanted, cores), cores);
  std::vector<std::jthread> others;
  for (int32_t i = 1; i < threads; ++i) others.emplace_back([&] { work(stop, false); });
  work(stop, true);
}

bool Uploads::next_piece(const std::stop_token& stop, Piece* piece) {
  std::lock_guard const lock(mutex_);
  if (pieces_.empty() || stop.stop_requested() || failure_ != nullptr) return false;
  *piece = pieces_.front();
  pieces_.pop_front();
  return true;
}

void Uploads::work(const std::stop_token& stop, bool is_first) noexcept {
  try {
    base::check(cudaSetDevice(queue_.context.device->id), "making the context's device current");
    std::array<base::RingSlot, kernels::kStagingSlots> slots{base::RingSlot(queue_.context),
                                                             base::RingSlot(queue_.context)};
    // CUDA's own copies of pageable memory come one after the other.
    if (!slots.front().memory && !is_first) return;
    size_t const used = slots.back().memory ? slots.size() : 1;
    Piece piece;
    for (size_t turn = 0; next_piece(stop, &piece); ++turn) {
      base::RingSlot& slot = slots[turn % used];
      if (!slot.memory) {
        send(piece, piece.source);
        continue;
      }
      base::check(slot.moved.try_wait(), "waiting for a copy");
      std::memcpy(slot.memory.data(), piece.source, piece.bytes);
      send(piece, slot.memory.data());
      slot.moved.record(stream_);
    }
  } catch (...) {
    note_failure();
  }
}

void Uploads::send(const Piece& piece, const void* from) {
  base::check(cudaMemcpyAsync(piece.target, from, piece.bytes, cudaMemcpyHostToDevice, stream_),
              "copying through page-locked memory");
  std::lock_guard const lock(mutex_);
  if (--piece.copy->unqueued != 0) return;
  piece.copy->arrived.record(stream_);
  queued_.notify_all();
}

void Uploads::note_failure() {
  std::lock_guard const lock(mutex_);
  if (failure_ == nullptr) failure_ = std::current_exception();
  queued_.notify_all();
}

void Uploads::await(uint64_t number, base::Queue& reader) {
  std::unique_lock lock(mutex_);
  auto const found = copies_.find(number);
  if (found == copies_.end()) return;
  Copy& copy = *found->second;
  // Pieces take well under a millisecond each; the request to cancel is looked for that often.
  while (copy.unqueued != 0 && failure_ == nullptr) {
    queued_.wait_for(lock, std::chrono::milliseconds(5));
    if (copy.unqueued == 0) break;
    lock.unlock();
    reader.check_cancelled();
    lock.lock();
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  copy.arrived.hold(base::stream_of(reader));
  copies_.erase(found);
}

}  // namespace gpujoin::transfer
