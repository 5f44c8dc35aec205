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
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/copy_ring.hpp"
#include "src/base/copy_threads.hpp"
#include "src/base/copy_turns.hpp"
#include "src/base/device.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/base/streaming.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kPiecesOfThread = 4;
constexpr uint64_t kMostThreads = 8;

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
    for (uint64_t at = 0; at < copy.bytes; at += kRingPieceBytes) {
      pieces.push_back({target + at, source + at, std::min(kRingPieceBytes, copy.bytes - at),
                        copy.source_memory == Memory::kHost});
    }
  }
  return pieces;
}

// And what is on its way through it.
struct Slot : RingSlot {
  using RingSlot::RingSlot;
  const Piece* piece = nullptr;
};
using Slots = std::array<Slot, 2>;

// Of a device and a way, for all calls of the process: where each has a stream, the engine goes
// from one to the other, and eight calls take 104 ms in the place of 97.
cudaStream_t ring_stream(int device_id, bool to_device) {
  // Never destroyed: contexts may outlive statics.
  static auto* const mutex = new std::mutex;
  static auto* const streams = new std::map<std::pair<int, bool>, cudaStream_t>;
  std::lock_guard const lock(*mutex);
  cudaStream_t& stream = (*streams)[{device_id, to_device}];
  if (stream == nullptr) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a copy stream");
  }
  return stream;
}

// What threads share. One of them copies without slots, by CUDA's own copies, where pinned memory
// has no room. expected: the context's device is current.
class RingCopy {
 public:
  RingCopy(Queue& queue, const std::vector<Piece>& pieces)
      : queue_(queue),
        pieces_(pieces),
        stream_(ring_stream(queue.context.device->id, pieces.front().to_device)) {}

  void run(uint64_t threads) {
    // What is queued may be what writes a source, or uses a target: here nobody waits for others.
    finish(queue_);
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
      Slots slots{Slot(queue_.context), Slot(queue_.context)};
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

  void copy_through(Slots& slots) {
    size_t const used = slots.back().memory ? slots.size() : 1;
    size_t turn = 0;
    for (const Piece* piece = next(); piece != nullptr; piece = next()) {
      Slot& slot = slots[turn++ % used];
      take_out(slot);
      auto* const memory = slot.memory.as<std::byte>();
      if (piece->to_device) {
        std::memcpy(memory, piece->source, piece->bytes);
        move(piece->target, memory, *piece, stream_);
      } else {
        move(memory, piece->source, *piece, stream_);
      }
      slot.moved.record(stream_);
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
      move(piece->target, piece->source, *piece, stream_of(queue_));
    }
    finish(queue_);
  }

  static void move(void* to, const void* from, const Piece& piece, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, piece.bytes, cudaMemcpyDefault, stream),
          piece.to_device ? "copying to the device" : "copying from the device");
  }

  // Null: there is none, or nobody wants it any more.
  const Piece* next() {
    size_t const number = next_.fetch_add(1, std::memory_order_relaxed);
    return number < pieces_.size() && !queue_.is_cancelled() ? &pieces_[number] : nullptr;
  }

  Queue& queue_;
  const std::vector<Piece>& pieces_;
  cudaStream_t stream_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void copy_through_ring(Queue& queue, const std::vector<Copy>& copies) {
  std::vector<Piece> const pieces = pieces_of(copies);
  uint64_t const wanted = std::clamp<uint64_t>(pieces.size() / kPiecesOfThread, 1, kMostThreads);
  // What one thread does alone does not wait for others' large copies.
  std::optional<CopyTurn> turn;
  if (wanted > 1) {
    turn.emplace(queue.context.device->id, pieces.front().to_device,
                 [&] { return queue.is_cancelled(); });
    queue.check_cancelled();
  }
  CopyThreads share;
  int32_t const threads = share.take(static_cast<int32_t>(wanted), queue.context.cpu_threads);
  RingCopy(queue, pieces).run(static_cast<uint64_t>(threads));
}

}  // namespace gpujoin::base
