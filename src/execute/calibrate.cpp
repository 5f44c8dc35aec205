// calibrate.cpp: memory and launches by plain kernels, and the rates of techniques by joins.
//
// Each join isolates one rate: without a match there is no pair to write, with one match a row
// pairs come to what is known by then, and with several those beyond the first.
#include "src/execute/calibrate.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/calibration_file.hpp"
#include "src/base/copy.hpp"
#include "src/base/scatter_order.hpp"
#include "src/base/status.hpp"
#include "src/cpu/measure_memory.hpp"
#include "src/execute/execute.hpp"
#include "src/plan/fit_rates.hpp"
#if GPUJOIN_WITH_CUDA
#include "src/calibrate/calibrate.hpp"
#endif

namespace gpujoin::execute {

namespace {

using base::DeviceFacts;
using base::Memory;
using plan::SampleStatistics;

constexpr int kTries = 5;
constexpr uint32_t kCopies = 8;  // rows of a key, where there are several

// 2^27 rows of the built-in figures take more memory than a small GPU has; fewer than these are
// launches more than rows.
int32_t row_bits(const base::Context& context) { return context.is_cuda() ? 25 : 22; }

// One join in full: what its tables are, and so what a sample of them must say.
struct Workload {
  uint32_t first_right_key;  // beyond the left keys: no match
  uint32_t copies;           // rows of each key on both sides
  SampleStatistics sample;
};

SampleStatistics truth(int32_t bits, uint32_t copies, bool matches) {
  SampleStatistics sample;
  sample.sampled = true;
  sample.counted = true;
  sample.match_ratio = matches ? 1 : 0;
  sample.rows_per_match = copies;
  sample.heaviest_build_key =
      static_cast<double>(copies) / static_cast<double>(uint64_t{1} << bits);
  sample.heaviest_probe_key = sample.heaviest_build_key;
  sample.varying_key_bits = matches ? bits : bits + 1;
  return sample;
}

Workload no_match(int32_t bits) { return {uint32_t{1} << bits, 1, truth(bits, 1, false)}; }
Workload one_match(int32_t bits) { return {0, 1, truth(bits, 1, true)}; }
Workload many_matches(int32_t bits) { return {0, kCopies, truth(bits, kCopies, true)}; }

// A relation of a key and a payload of 4 bytes where the context's joins run.
std::shared_ptr<columns::Relation> make_relation(base::Queue& queue, int32_t bits, uint32_t seed,
                                                 uint32_t first, uint32_t copies) {
  bool const cuda = queue.context.is_cuda();
  base::Pool& pool = cuda ? *queue.device_pool : *queue.host_pool;
  Memory const memory = cuda ? Memory::kDevice : Memory::kHost;
  auto const rows = uint32_t{1} << bits;
  auto relation = std::make_shared<columns::Relation>();
  relation->context = queue.context.shared_from_this();
  relation->rows = rows;
  auto buffers = std::make_shared<std::vector<base::Buffer>>();
  base::Buffer const values =
      queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, rows, "keys to join");
  for (const bool is_key : {true, false}) {
    for (uint32_t i = 0; i < rows; ++i) {
      values.as<uint32_t>()[i] = is_key ? first + base::scattered(i + seed, bits) / copies : i;
    }
    base::Buffer& column =
        buffers->emplace_back(pool.allocate_rows<uint32_t>(memory, rows, "a column to join"));
    base::copy(queue, column.data(), memory, values.data(), Memory::kHost, values.bytes());
    base::finish(queue);
    columns::ColumnView view;
    view.type = GPUJOIN_TYPE_UINT32;
    view.width = columns::width_of(view.type);
    view.data = column.data();
    view.memory = memory;
    view.name = is_key ? "key" : "payload";
    view.arrow_format = columns::arrow_format_of(view.type);
    relation->columns.push_back(std::move(view));
  }
  relation->owner = std::move(buffers);
  return relation;
}

// Runs joins of one workload and times their stages.
class TimedJoins {
 public:
  TimedJoins(base::Queue& queue, int32_t bits, Workload workload)
      : queue_(queue), workload_(std::move(workload)) {
    left_ = make_relation(queue, bits, 0, 0, workload_.copies);
    // Another seed: rows that match do not lie at the same places of their relations.
    right_ = make_relation(queue, bits, 0x5A5A5A5U, workload_.first_right_key, workload_.copies);
  }

  // The fastest time of each stage that is named.
  std::vector<plan::TimedStage> stages(gpujoin_algorithm algorithm, const DeviceFacts& facts,
                                       const std::vector<std::string>& names) const {
    PlannedJoin const join = planned(algorithm, facts);
    std::vector<plan::TimedStage> timed;
    for (const std::string& name : names) {
      timed.push_back({join.choice.plan(), join.request, workload_.sample, name, 0});
    }
    for (int i = 0; i <= kTries; ++i) {  // the first grows the pool
      auto const result = execute(queue_, join);
      for (plan::TimedStage& stage : timed) {
        double seconds = 0;
        for (auto const& each : result->statistics.stages) {
          if (each.stage == stage.stage) seconds += 1e-3 * each.milliseconds;
        }
        if (i == 1 || (i > 1 && seconds < stage.seconds)) stage.seconds = seconds;
      }
    }
    return timed;
  }

 private:
  PlannedJoin planned(gpujoin_algorithm algorithm, const DeviceFacts& facts) const {
    columns::JoinSpec spec;
    spec.materialize = true;
    spec.left_columns = {1};
    spec.right_columns = {0, 1};
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = algorithm;
    options.build_side = GPUJOIN_SIDE_LEFT;
    PlannedJoin join = make_plan(queue_, left_, right_, spec, options);
    join.choice = plan::choose_plan(join.request, workload_.sample, facts, 0);
    return join;
  }

  base::Queue& queue_;
  Workload workload_;
  std::shared_ptr<columns::Relation> left_;
  std::shared_ptr<columns::Relation> right_;
};

class Fit {
 public:
  Fit(const base::Context& context, DeviceFacts* facts) : context_(context), facts_(facts) {}

  void set(double DeviceFacts::*rate, const plan::TimedStage& timed) {
    if (plan::fit_rate(timed, rate, facts_)) return;
    auto const rates = base::all_rates();
    auto const found = std::find_if(rates.begin(), rates.end(),
                                    [&](const base::Rate& each) { return each.value == rate; });
    context_.log(GPUJOIN_LOG_WARNING,
                 base::text("calibrate: %s stays %.3g: a %s of %.3f ms does not show it",
                            found->name, facts_->*rate, timed.stage.c_str(), 1e3 * timed.seconds));
  }

 private:
  const base::Context& context_;
  DeviceFacts* facts_;
};

void fit_join_rates(base::Queue& queue, DeviceFacts* facts) {
  int32_t const bits = row_bits(queue.context);
  bool const cuda = queue.context.is_cuda();
  gpujoin_algorithm const partitioned =
      cuda ? GPUJOIN_ALGORITHM_PHJ_OM : GPUJOIN_ALGORITHM_CPU_RADIX;
  Fit fit(queue.context, facts);
  {
    TimedJoins const joins(queue, bits, no_match(bits));
    auto const stages = joins.stages(partitioned, *facts, {"transform", "match"});
    fit.set(&DeviceFacts::radix_pass_rows_per_second, stages[0]);
    fit.set(&DeviceFacts::shared_probe_rows_per_second, stages[1]);
    // A CPU plan merges nothing, and its figure stays.
    if (cuda) {
      fit.set(&DeviceFacts::merge_rows_per_second,
              joins.stages(GPUJOIN_ALGORITHM_SMJ_OM, *facts, {"match"})[0]);
    }
  }
  fit.set(&DeviceFacts::emitted_pairs_per_second,
          TimedJoins(queue, bits, one_match(bits)).stages(partitioned, *facts, {"match"})[0]);
  fit.set(&DeviceFacts::further_pairs_per_second,
          TimedJoins(queue, bits - 2, many_matches(bits - 2))
              .stages(partitioned, *facts, {"match"})[0]);
}

void measure_memory(base::Queue& queue, DeviceFacts* facts) {
#if GPUJOIN_WITH_CUDA
  if (queue.context.is_cuda()) return calibrate::measure_memory(queue, facts);
#endif
  cpu::measure_memory(queue, facts);
}

}  // namespace

void calibrate(base::Queue& queue, const std::string& path) {
  constexpr int64_t kSteps = 2;
  base::CalibrationFile file(path, "path");
  DeviceFacts facts = queue.context.facts;
  queue.step("calibrate", 0, kSteps);
  measure_memory(queue, &facts);
  queue.step("calibrate", 1, kSteps);
  fit_join_rates(queue, &facts);
  queue.step("calibrate", kSteps, kSteps);
  file.commit(facts);
  queue.context.facts = base::read_calibration(queue.context.facts, path, "path");
  queue.context.log(GPUJOIN_LOG_INFO, "rates as measured, written to " + path);
}

}  // namespace gpujoin::execute
