// uploads.hpp: copies from host memory on a stream of their own, in the order they are asked for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/tuning.hpp"
#include "src/base/device.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::transfer {

// Of the way back.
using kernels::kResultPieceBytes;
using kernels::kResultThreads;

// Page-locked memory is copied by the link's engine alone. Pageable memory is brought to
// page-locked pieces by threads while earlier pieces are on the link. They are there while pieces
// are, when their call has its turn (base/copy_turns.hpp).
class Uploads {
 public:
  explicit Uploads(base::Queue& queue);
  // Abandons what has not begun and waits for what has: afterwards nothing reads the sources or
  // writes the targets.
  ~Uploads();
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;

  struct Segment {
    void* target = nullptr;  // device memory; a block of the pool may have just been allocated
    const void* source = nullptr;
    uint64_t bytes = 0;
  };
  // A number for await, of all segments together.
  uint64_t copy(const std::vector<Segment>& segments);

  // The stream of the queue, or of who reads the target on another one, waits for the copy. The
  // calling thread waits until the last piece is queued, and no longer. Throws what went wrong in
  // the threads, and CANCELLED. A number that was awaited before costs nothing.
  void await(uint64_t number) { await(number, queue_); }
  void await(uint64_t number, base::Queue& reader);

 private:
  struct Copy;
  struct Piece {
    Copy* copy = nullptr;
    void* target = nullptr;
    const std::byte* source = nullptr;
    uint64_t bytes = 0;
  };
  struct Copy {
    base::Event arrived;
    uint64_t unqueued = 0;  // pieces that are not on the stream yet
  };

  void stage(const Segment& segment, Copy* copy);
  void start_threads();
  void lead(const std::stop_token& stop) noexcept;
  size_t pieces_left(const std::stop_token& stop);
  void send_pieces(const std::stop_token& stop, size_t pieces);
  void work(const std::stop_token& stop, bool is_first) noexcept;
  bool next_piece(const std::stop_token& stop, Piece* piece);
  void send(const Piece& piece, const void* from);
  void note_failure();

  base::Queue& queue_;
  cudaStream_t stream_;
  base::Event blocks_free_;
  uint64_t last_number_ = 0;
  bool sources_ready_ = false;

  std::mutex mutex_;
  std::condition_variable queued_;
  std::deque<Piece> pieces_;
  std::map<uint64_t, std::unique_ptr<Copy>> copies_;  // not awaited yet
  std::exception_ptr failure_;
  bool is_led_ = false;
  std::jthread first_;  // which has the others
};

}  // namespace gpujoin::transfer
