// stage_clock_cuda.cpp: the times of stages by CUDA events.
#include "src/base/device.hpp"
#include "src/execute/stage_clock.hpp"

namespace gpujoin::execute {

void StageClock::record() {
  std::vector<cudaEvent_t>& events = queue_.device->events;
  if (events_ == events.size()) {
    cudaEvent_t event = nullptr;
    base::check(cudaEventCreate(&event), "creating an event");
    events.push_back(event);
  }
  base::check(cudaEventRecord(events[events_++], base::stream_of(queue_)), "recording an event");
}

void StageClock::read_events() {
  base::check(cudaStreamSynchronize(base::stream_of(queue_)), "waiting for the join");
  std::vector<cudaEvent_t> const& events = queue_.device->events;
  for (size_t i = first_timed_; i < stages_.size(); ++i) {
    float milliseconds = 0;
    base::check(
        cudaEventElapsedTime(&milliseconds, events[i - first_timed_], events[i - first_timed_ + 1]),
        "reading a stage's time");
    stages_[i].milliseconds += static_cast<double>(milliseconds);
  }
}

}  // namespace gpujoin::execute
