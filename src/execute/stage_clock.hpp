// stage_clock.hpp: device time of each stage by events on the context's stream, or by a launch's
// own clock, and the steps between stages.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "src/base/context.hpp"
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
  // predicted: of the plan, stages with the names that begin is called with; their techniques and
  // bytes are reported.
  StageClock(base::Context& context, const plan::StageCosts& predicted,
             std::vector<columns::StageStatistics>& stages, Steps steps = {0, 4});
  // What is queued until listen() is called tells its own time, or there is nothing. Before the
  // first begin. The events of a small join, and the wait for the last, take as long as the join.
  void be_told() { first_heard_ = kNone; }
  bool is_told() const { return first_heard_ == kNone; }
  // The last stage goes on with work that only events see the end of.
  void listen();
  // Of the last stage, beside what events say.
  void add(double milliseconds) { stages_.back().milliseconds += milliseconds; }
  // Ends the stage before and starts one; reports progress and checks for cancellation.
  void begin(const char* stage);
  // Ends the last stage. With events waits for the stream and reads the times.
  void finish();

 private:
  static constexpr size_t kNone = SIZE_MAX;
  void record();

  base::Context& context_;
  const plan::StageCosts& predicted_;
  std::vector<columns::StageStatistics>& stages_;
  Steps steps_;
  size_t events_ = 0;
  size_t first_heard_ = 0;  // stage; kNone: no event was recorded
};

}  // namespace gpujoin::execute
