#include "src/execute/kept_places.hpp"

#include <algorithm>
#include <utility>

#include "src/execute/stage_clock.hpp"

namespace gpujoin::execute {

bool KeptPlaces::have_asked_enough(uint64_t probe_rows) {
  constexpr uint64_t kRowsOfOneAsking = 4;
  uint64_t const asked = asked_.fetch_add(probe_rows, std::memory_order_relaxed) + probe_rows;
  return asked >= side_.input_rows() / kRowsOfOneAsking;
}

const CpuSide& KeptPlaces::rows_for(const JoinStep& step, cpu::Workers& workers,
                                    uint64_t probe_rows) {
  if (auto const* const placed = ready_.load(std::memory_order_acquire)) return *placed;
  if (!have_asked_enough(probe_rows) || is_tried_.exchange(true)) return side_;
  // Of numbers without a row there are as many as rows at the most.
  uint64_t const most_bytes = 2 * side_.moved_bytes(numbers_);
  step.clock.enter("transform");
  try {
    auto placed = std::make_unique<CpuSide>(step.queue, workers, side_);
    if (!has_room(step, most_bytes) || !placed->place_rows(numbers_, most_bytes)) return side_;
    placed_ = std::move(placed);
  } catch (...) {
    is_tried_.store(false);
    throw;
  }
  step.clock.note("build rows placed", 2 * placed_->rows().rows.bytes());
  ready_.store(placed_.get(), std::memory_order_release);
  return *placed_;
}

bool has_room(const JoinStep& step, uint64_t bytes) {
  base::Account const& account = step.queue.host_pool->account();
  if (account.limit_bytes() == 0) return true;
  uint64_t const free =
      account.limit_bytes() - std::min(account.in_use_bytes(), account.limit_bytes());
  return bytes <= free / 4;
}

}  // namespace gpujoin::execute
