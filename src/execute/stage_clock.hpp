// stage_clock.hpp: the time of each stage, and the steps between stages. Of the GPU device time, by
// events on the queue's stream or by a kernel's own clock; of the CPU the host's time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::execute {

class StageClock {
 public:
  // What progress counts: of a path in parts, the steps before this part, and of all parts.
  struct Steps {
    int64_t before = 0;
    int64_t total = 4;  // the stages of the path
  };
  // device: on which the stages run. steps: of the GPU. The CPU's threads report what they do
  // themselves, stage by stage.
  StageClock(base::Queue& queue, plan::Device device, std::vector<columns::StageStatistics>& stages,
             Steps steps = {0, 4});

  // Techniques and bytes of stages that begin from here on: those with the same name. The costs
  // outlive the clock.
  void predict(const plan::StageCosts& predicted) { predicted_ = &predicted; }

  // What is queued until use_events() is called tells its own time, or there is nothing. Before the
  // first begin. The events of a small join, and the wait for the last, take as long as the join.
  void use_kernel_clock() { first_timed_ = kNone; }
  // From here on events tell the time, also of what the last stage goes on with.
  void use_events();
  // Of the last stage, unless events say it.
  void add_kernel_time(double milliseconds) {
    if (first_timed_ == kNone) stages_.back().milliseconds += milliseconds;
  }

  bool is_new() const { return stages_.empty(); }
  // Ends the stage before and starts one; checks for cancellation and, of the GPU, reports
  // progress.
  void begin(const char* stage);
  // The same, unless it is the stage that runs.
  void enter(const char* stage);
  // What the last stage came to, in the place of its technique.
  void note(std::string technique) { stages_.back().technique = std::move(technique); }
  const std::string& technique() const { return stages_.back().technique; }
  // The same, and what it moved, where no bytes were predicted.
  void note(std::string technique, uint64_t bytes);
  // The attempt that ends with the last stage did not join the sides; the next one has stages of
  // its own.
  void note_in_vain(const char* why);
  // Ends the last stage, whatever is queued until finish().
  void stop();
  // The same, where it was not. With events waits for the stream and reads the times.
  void finish();

 private:
  static constexpr size_t kNone = SIZE_MAX;
  using HostClock = std::chrono::steady_clock;

  bool is_of_host() const { return device_ == plan::Device::kCpu; }
  void take_host_time();  // of the last stage
  // In stage_clock_cuda.cpp.
  void record();
  void read_events();

  base::Queue& queue_;
  plan::Device device_;
  const plan::StageCosts* predicted_ = nullptr;
  std::vector<columns::StageStatistics>& stages_;
  Steps steps_;
  bool is_over_ = false;  // the last stage, of an attempt in vain
  bool is_stopped_ = false;
  size_t events_ = 0;
  size_t first_timed_ = 0;       // by events: stage; kNone: no event was recorded
  HostClock::time_point began_;  // the last stage, by the host's clock
};

// Stages one behind the other: a GPU is waited for behind the last, since a wait between two leaves
// it without work. No other clock runs on the queue until finish().
class QueuedStages {
 public:
  // stages: to which they are appended by finish().
  QueuedStages(base::Queue& queue, std::vector<columns::StageStatistics>& stages)
      : queue_(queue), stages_(stages) {}
  QueuedStages(const QueuedStages&) = delete;
  QueuedStages& operator=(const QueuedStages&) = delete;

  void run(plan::Device device, const plan::StageCost& cost, const std::function<void()>& work);
  // What is queued until finish() is none of the stages.
  void stop();
  void finish();
  // expected: finish() was called. For stages that have a clock of their own.
  std::vector<columns::StageStatistics>& stages() { return stages_; }

 private:
  base::Queue& queue_;
  std::vector<columns::StageStatistics>& stages_;
  std::vector<columns::StageStatistics> own_;
  plan::StageCosts predicted_;
  std::optional<StageClock> clock_;  // of stages that are queued
  plan::Device device_{};
  bool is_stopped_ = false;
};

// Runs the work as one stage of its own, its cost as given, and appends it.
void run_as_stage(base::Queue& queue, plan::Device device, const plan::StageCost& cost,
                  std::vector<columns::StageStatistics>& stages, const std::function<void()>& work);

}  // namespace gpujoin::execute
