#include "src/transfer/host_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/tuning.hpp"

namespace gpujoin::transfer {

using kernels::kStagingPieceBytes;

void copy_on_host(base::Queue& queue, void* target, const void* source, uint64_t bytes) {
  uint64_t const pieces = (bytes + kStagingPieceBytes - 1) / kStagingPieceBytes;
  std::atomic<uint64_t> next{0};
  auto const copy_pieces = [&] {
    for (uint64_t piece = next.fetch_add(1); piece < pieces; piece = next.fetch_add(1)) {
      if (queue.is_cancelled()) return;
      uint64_t const at = piece * kStagingPieceBytes;
      std::memcpy(static_cast<std::byte*>(target) + at, static_cast<const std::byte*>(source) + at,
                  std::min(kStagingPieceBytes, bytes - at));
    }
  };
  uint64_t const threads =
      std::min({pieces, static_cast<uint64_t>(std::max(queue.context.cpu_threads, 1)),
                static_cast<uint64_t>(kernels::kStagingThreads)});
  {
    std::vector<std::jthread> others;
    for (uint64_t i = 1; i < threads; ++i) others.emplace_back(copy_pieces);
    copy_pieces();
  }
  queue.check_cancelled();
}

}  // namespace gpujoin::transfer
