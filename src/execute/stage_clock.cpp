#include "src/execute/stage_clock.hpp"

#include <algorithm>
#include <utility>

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
// Nothing runs on a GPU here.
void StageClock::record() {}
void StageClock::read_events() {}
#endif

StageClock::StageClock(base::Queue& queue, plan::Device device,
                       std::vector<columns::StageStatistics>& stages, Steps steps)
    : queue_(queue), device_(device), stages_(stages), steps_(steps) {}

void StageClock::take_host_time() {
  auto const now = HostClock::now();
  if (!stages_.empty()) {
    stages_.back().milliseconds = std::chrono::duration<double, std::milli>(now - began_).count();
  }
  began_ = now;
}

void StageClock::begin(const char* stage) {
  if (is_of_host()) {
    queue_.check_cancelled();
    take_host_time();
  } else {
    // An attempt in vain adds stages that nobody counted on.
    int64_t const done = steps_.before + static_cast<int64_t>(stages_.size());
    queue_.step(stage, std::min(done, steps_.total - 1), steps_.total);
    if (first_timed_ != kNone) record();
  }
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
  is_over_ = is_stopped_ = false;
}

void StageClock::enter(const char* stage) {
  if (is_new() || is_over_ || stages_.back().stage != stage) begin(stage);
}

void StageClock::note(std::string technique, uint64_t bytes) {
  note(std::move(technique));
  columns::StageStatistics& last = stages_.back();
  bool const is_predicted = std::any_of(predicted_->begin(), predicted_->end(),
                                        [&](auto const& cost) { return last.stage == cost.stage; });
  if (!is_predicted) last.predicted_bytes = bytes;
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

void StageClock::stop() {
  if (is_of_host()) {
    take_host_time();
  } else if (first_timed_ != kNone) {
    record();
  }
  is_stopped_ = true;
}

void StageClock::finish() {
  if (!is_stopped_) stop();
  if (is_of_host()) return;
  if (first_timed_ != kNone) read_events();
  int64_t const done = std::min(steps_.before + static_cast<int64_t>(stages_.size()), steps_.total);
  queue_.step(done == steps_.total ? "done" : stages_.back().stage.c_str(), done, steps_.total);
}

void QueuedStages::run(plan::Device device, const plan::StageCost& cost,
                       const std::function<void()>& work) {
  if (clock_ && (is_stopped_ || device_ != device)) finish();
  if (!clock_) clock_.emplace(queue_, device, own_);
  device_ = device;
  is_stopped_ = false;
  predicted_ = {cost};
  clock_->predict(predicted_);
  clock_->begin(cost.stage);
  work();
}

void QueuedStages::stop() {
  if (clock_ && !is_stopped_) clock_->stop();
  is_stopped_ = true;
}

void QueuedStages::finish() {
  is_stopped_ = false;
  if (!clock_) return;
  clock_->finish();
  clock_.reset();
  for (columns::StageStatistics& stage : own_) stages_.push_back(std::move(stage));
  own_.clear();
}

void run_as_stage(base::Queue& queue, plan::Device device, const plan::StageCost& cost,
                  std::vector<columns::StageStatistics>& stages,
                  const std::function<void()>& work) {
  QueuedStages alone(queue, stages);
  alone.run(device, cost, work);
  alone.finish();
}

}  // namespace gpujoin::execute
