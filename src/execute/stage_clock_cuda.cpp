#include "src/execute/stage_clock.hpp"

#include <algorithm>
#include <utility>

#include "src/base/device.hpp"

namespace gpujoin::execute {

StageClock::StageClock(base::Queue& queue, std::vector<columns::StageStatistics>& stages,
                       Steps steps)
    : queue_(queue), stages_(stages), steps_(steps) {}

void StageClock::record() {
  std::vector<cudaEvent_t>& events = queue_.device->events;
  if (events_ == events.size()) {
    cudaEvent_t event = nullptr;
    base::check(cudaEventCreate(&event), "creating an event");
    events.push_back(event);
  }
  base::check(cudaEventRecord(events[events_++], base::stream_of(queue_)), "recording an event");
}

void StageClock::begin(const char* stage) {
  // An attempt in vain adds stages that nobody counted on.
  int64_t const done = steps_.before + static_cast<int64_t>(stages_.size());
  queue_.step(stage, std::min(done, steps_.total - 1), steps_.total);
  if (first_timed_ != kNone) record();
  // Of a path without parts.
  if (stages_.empty()) stages_.reserve(4);
  columns::StageStatistics statistics;
  statistics.stage = stage;
  for (plan::StageCost const& cost : *predicted_) {
    if (statistics.stage != cost.stage) continue;
    if (!statistics.technique.empty()) statistics.technique += ", ";
    statistics.technique += cost.technique_text();
    statistics.predicted_bytes += cost.bytes;
  }
  if (statistics.technique.empty())
    statistics.technique = "none";  // the plan has nothing to do here
  stages_.push_back(std::move(statistics));
  is_over_ = false;
}

void StageClock::enter(const char* stage) {
  if (is_over_ || stages_.back().stage != stage) begin(stage);
}

void StageClock::use_events() {
  if (first_timed_ != kNone) return;
  first_timed_ = stages_.size() - 1;
  record();
}

void StageClock::note_in_vain(const char* why) {
  stages_.back().technique.append(", in vain: ").append(why);
  is_over_ = true;
}

void StageClock::finish() {
  if (first_timed_ != kNone) {
    record();
    base::check(cudaStreamSynchronize(base::stream_of(queue_)), "waiting for the join");
    std::vector<cudaEvent_t> const& events = queue_.device->events;
    for (size_t i = first_timed_; i < stages_.size(); ++i) {
      float milliseconds = 0;
      base::check(cudaEventElapsedTime(&milliseconds, events[i - first_timed_],
                                       events[i - first_timed_ + 1]),
                  "reading a stage's time");
      stages_[i].milliseconds += static_cast<double>(milliseconds);
    }
  }
  int64_t const done = std::min(steps_.before + static_cast<int64_t>(stages_.size()), steps_.total);
  queue_.step(done == steps_.total ? "done" : stages_.back().stage.c_str(), done, steps_.total);
}

}  // namespace gpujoin::execute
