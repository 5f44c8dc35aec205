// copy_ring.hpp: the page-locked pieces through which threads copy pageable memory, either way.
//
// All of them come from the context's pool, in one size, and go back to it with the thread that had
// them, so that calls hand them on to each other: what is page-locked is what copies at one time,
// and lies in the processor's caches while the link reads or writes it.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/base/device.hpp"
#include "src/base/memory.hpp"

namespace gpujoin::base {

// On an H200's host pieces of 1 MiB leave the link a tenth of its time between them, and of 4 MiB
// the caches do not hold enough: to copy out of them takes twice as long.
inline constexpr uint64_t kRingPieceBytes = uint64_t{2} << 20;

// Of a thread, which has two: while one is on the link it copies the other one.
struct RingSlot {
  // Without memory where the pinned memory has no room.
  explicit RingSlot(Context& context)
      : memory(context.pinned_pool->try_allocate(Memory::kPinned, kRingPieceBytes)) {}
  // No piece is on a stream any more when it is given back.
  ~RingSlot() { static_cast<void>(moved.try_wait()); }
  RingSlot(const RingSlot&) = delete;
  RingSlot& operator=(const RingSlot&) = delete;

  Buffer memory;
  Event moved{false};  // the link has done with it
};

}  // namespace gpujoin::base
