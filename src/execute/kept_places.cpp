#include "src/execute/kept_places.hpp"

#include <utility>

#include "src/execute/spare_room.hpp"
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
  if (!has_spare_room(step, most_bytes)) return side_;
  step.clock.enter("transform");
  try {
    auto placed = std::make_unique<CpuSide>(step.queue, workers, side_);
    if (!placed->place_rows(numbers_, most_bytes)) return side_;
    placed_ = std::move(placed);
  } catch (...) {
    is_tried_.store(false);
    throw;
  }
  step.clock.note("build rows placed", 2 * placed_->rows().rows.bytes());
  ready_.store(placed_.get(), std::memory_order_release);
  return *placed_;
}

}  // namespace gpujoin::execute
