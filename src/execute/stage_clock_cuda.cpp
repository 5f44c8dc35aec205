#include "src/execute/stage_clock.hpp"

#include "src/base/device.hpp"

namespace gpujoin::execute {

namespace {
constexpr int64_t kStages = 4;  // of the path; what progress counts
}

StageClock::StageClock(base::Context& context, const std::vector<plan::StageCost>& predicted,
                       std::vector<columns::StageStatistics>& stages)
    : context_(context), predicted_(predicted), stages_(stages) {}

void StageClock::record() {
  std::vector<cudaEvent_t>& events = context_.device->events;
  if (events_ == events.size()) {
    cudaEvent_t event = nullptr;
    base::check(cudaEventCreate(&event), "creating an event");
    events.push_back(event);
  }
  base::check(cudaEventRecord(events[events_++], base::stream_of(context_)), "recording an event");
}

void StageClock::begin(const char* stage) {
  context_.step(stage, static_cast<int64_t>(stages_.size()), kStages);
  record();
  columns::StageStatistics statistics;
  statistics.stage = stage;
  for (plan::StageCost const& cost : predicted_) {
    if (cost.stage != statistics.stage) continue;
    if (!statistics.technique.empty()) statistics.technique += ", ";
    statistics.technique += cost.technique;
    statistics.predicted_bytes += cost.bytes;
  }
  if (statistics.technique.empty())
    statistics.technique = "none";  // the plan has nothing to do here
  stages_.push_back(std::move(statistics));
}

void StageClock::finish() {
  record();
  base::check(cudaStreamSynchronize(base::stream_of(context_)), "waiting for the join");
  std::vector<cudaEvent_t> const& events = context_.device->events;
  for (size_t i = 0; i < stages_.size(); ++i) {
    float milliseconds = 0;
    base::check(cudaEventElapsedTime(&milliseconds, events[i], events[i + 1]),
                "reading a stage's time");
    stages_[i].milliseconds = static_cast<double>(milliseconds);
  }
  context_.step("done", kStages, kStages);
}

}  // namespace gpujoin::execute
