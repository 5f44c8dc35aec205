// copy_ring_cuda.cpp: large copies between the device and pageable host memory.
//
// CUDA copies such memory at a fraction of the link's rate, one call at a time for the whole
// process. Through a few page-locked pieces it goes at the rate at which threads copy to or from
// these: page-locking all of it first costs ten times what the copy does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/copy_threads.hpp"
#include "src/base/device.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/base/streaming.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kPieceBytes = uint64_t{2} << 20;
constexpr uint64_t kPiecesOfThread = 4;
constexpr uint64_t kMostThreads = 8;
// While one is on the link a thread copies the other one.
constexpr size_t kSlots = 2;

// Of one of the copies.
struct Piece {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  uint64_t bytes = 0;
  bool to_device = false;
};

std::vector<Piece> pieces_of(const std::vector<Copy>& copies) {
  std::vector<Piece> pieces;
  for (Copy const& copy : copies) {
    auto* const target = static_cast<std::byte*>(copy.target);
    auto const* const source = static_cast<const std::byte*>(copy.source);
    for (uint64_t at = 0; at < copy.bytes; at += kPieceBytes) {
      pieces.push_back({target + at, source + at, std::min(kPieceBytes, copy.bytes - at),
                        copy.source_memory == Memory::kHost});
    }
  }
  return pieces;
}

// Page-locked memory of a thread's own, and what is on its way through it.
struct Slot {
  Buffer memory;
  Event moved{false};  // the link has done with it
  const Piece* piece = nullptr;
};

// What threads share. One of them copies without slots, by CUDA's own copies, where pinned memory
// has no room.
class RingCopy {
 public:
  RingCopy(Queue& queue, const std::vector<Piece>& pieces) : queue_(queue), pieces_(pieces) {}

  void run(uint64_t threads) {
    // What is queued may be what writes a source.
    if (pieces_.front().to_device) finish(queue_);
    {
      std::vector<std::jthread> others;
      for (uint64_t i = 1; i < threads; ++i) others.emplace_back([this] { copy_pieces(false); });
      copy_pieces(true);
    }
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    queue_.check_cancelled();
  }

 private:
  void copy_pieces(bool is_first) noexcept {
    try {
      check(cudaSetDevice(queue_.context.device->id), "making the context's device current");
      std::array<Slot, kSlots> slots;
      for (Slot& slot : slots) {
        // Of all queues: no piece is on a stream any more when it is given back.
        slot.memory = queue_.context.pinned_pool->try_allocate(Memory::kPinned, kPieceBytes);
      }
      if (slots.front().memory) {
        copy_through(slots);
      } else if (is_first) {
        copy_plainly();
      }
    } catch (...) {
      std::lock_guard const lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }

  void copy_through(std::array<Slot, kSlots>& slots) {
    size_t const used = slots.back().memory ? kSlots : 1;
    size_t turn = 0;
    for (const Piece* piece = next(); piece != nullptr; piece = next()) {
      Slot& slot = slots[turn++ % used];
      take_out(slot);
      auto* const memory = slot.memory.as<std::byte>();
      if (piece->to_device) {
        std::memcpy(memory, piece->source, piece->bytes);
        move(piece->target, memory, *piece);
      } else {
        move(memory, piece->source, *piece);
      }
      slot.moved.record(stream_of(queue_));
      slot.piece = piece;
    }
    for (size_t i = 0; i < used; ++i) take_out(slots[turn++ % used]);
    finish_streaming();
  }

  void take_out(Slot& slot) {
    const Piece* const piece = std::exchange(slot.piece, nullptr);
    if (piece == nullptr) return;
    check(slot.moved.try_wait(), "waiting for a copy");
    if (!piece->to_device) stream_bytes(piece->target, slot.memory.as<std::byte>(), piece->bytes);
  }

  void copy_plainly() {
    for (const Piece* piece = next(); piece != nullptr; piece = next()) {
      move(piece->target, piece->source, *piece);
    }
    finish(queue_);
  }

  void move(void* to, const void* from, const Piece& piece) {
    check(cudaMemcpyAsync(to, from, piece.bytes, cudaMemcpyDefault, stream_of(queue_)),
          piece.to_device ? "copying to the device" : "copying from the device");
  }

  // Null: there is none, or nobody wants it any more.
  const Piece* next() {
    size_t const number = next_.fetch_add(1, std::memory_order_relaxed);
    return number < pieces_.size() && !queue_.is_cancelled() ? &pieces_[number] : nullptr;
  }

  Queue& queue_;
  const std::vector<Piece>& pieces_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void copy_through_ring(Queue& queue, const std::vector<Copy>& copies) {
  std::vector<Piece> const pieces = pieces_of(copies);
  uint64_t const wanted = std::clamp<uint64_t>(pieces.size() / kPiecesOfThread, 1, kMostThreads);
  CopyThreads share;
  int32_t const threads = share.take(static_cast<int32_t>(wanted), queue.context.cpu_threads);
  RingCopy(queue, pieces).run(static_cast<uint64_t>(threads));
}

}  // namespace gpujoin::base
