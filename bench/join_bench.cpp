// join_bench.cpp: cell/<name>/<plan>, the time of one gpujoin_join
//
// Timed    gpujoin_join, planning and execution, from data in the machine's memory to a result there;
//          by two events on the context's stream, so that work of the host counts as idle device time.
// Not      the two or more calls that warm up and grow the pool (the first is reported apart), the
//          check of the first result, the destruction of results.
// Reported the median of the timed calls as real_time; bytes as the library's traffic functions
//          predict them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "bench/session.hpp"

namespace gpujoin::bench {

namespace {

constexpr uint64_t kFlushBytes = uint64_t{256} << 20;  // several times the largest L2 cache

struct PlanName {
  const char* text;
  gpujoin_algorithm algorithm;
};
constexpr PlanName kCudaPlans[] = {
    {"AUTO", GPUJOIN_ALGORITHM_AUTOMATIC}, {"NOP", GPUJOIN_ALGORITHM_NOP},
    {"PHJ-OM", GPUJOIN_ALGORITHM_PHJ_OM},  {"PHJ-GFUR", GPUJOIN_ALGORITHM_PHJ_GFUR},
    {"SMJ-OM", GPUJOIN_ALGORITHM_SMJ_OM},  {"SMJ-UM", GPUJOIN_ALGORITHM_SMJ_UM}};
constexpr PlanName kCpuPlans[] = {{"AUTO", GPUJOIN_ALGORITHM_AUTOMATIC},
                                  {"CPU-RADIX", GPUJOIN_ALGORITHM_CPU_RADIX}};

struct CallTimes {
  double milliseconds = 0;       // by the machine's clock
  double wall_milliseconds = 0;  // as the caller sees it
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  std::map<std::string, double> stages;  // milliseconds; stages of one name together
};

void read_statistics(gpujoin_result* result, CallTimes& times) {
  call("read the statistics", gpujoin_result_get_statistics, result, &times.statistics);
  for (int32_t i = 0; i < times.statistics.stage_count; ++i) {
    gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
    call("read a stage", gpujoin_result_get_stage, result, i, &stage);
    times.stages[stage.stage] += stage.milliseconds;
  }
}

class Measurement {
 public:
  Measurement(Session& session, const Cell& cell, gpujoin_algorithm algorithm)
      : session_(session),
        data_(session.data_of(cell)),
        join_(session.context.get(), session.machine, data_),
        flushed_(session.machine, session.options.flush_cache ? kFlushBytes : 0) {
    plan_.algorithm = algorithm;
    // Published plans build on R, whatever the sizes; the planner is free.
    if (algorithm != GPUJOIN_ALGORITHM_AUTOMATIC) plan_.build_side = GPUJOIN_SIDE_LEFT;
    const int64_t rows = std::max(cell.build_rows, cell.probe_rows);
    calls_ = rows > 20'000'000 ? 5 : rows > 2'000'000 ? 25 : rows > 200'000 ? 51 : 201;
    if (session.options.calls > 0) calls_ = session.options.calls;
  }

  // Checks the first result, and calls until all pools are warm. Empty, or the fault found.
  std::string warm_up() {
    std::string fault;
    first_ = time_one_call(&fault);
    const int calls = calls_ > 50 ? 10 : 1;
    for (int i = 0; i < calls && fault.empty(); ++i) time_one_call(nullptr);
    return fault;
  }

  void run() {
    for (int i = 0; i < calls_; ++i) {
      timed_.push_back(time_one_call(nullptr));
      if (static_cast<uint64_t>(timed_.back().statistics.output_rows) != data_.expected.rows) {
        throw std::runtime_error("WRONG RESULT: a later call has another number of rows");
      }
    }
    std::sort(timed_.begin(), timed_.end(), [](const CallTimes& a, const CallTimes& b) {
      return a.milliseconds < b.milliseconds;
    });
  }

  const CallTimes& median() const { return timed_[timed_.size() / 2]; }

  void report(benchmark::State& state) const {
    const CallTimes& call_times = median();
    const gpujoin_statistics& statistics = call_times.statistics;
    const double seconds = call_times.milliseconds / 1000;
    const double bytes = static_cast<double>(statistics.predicted_bytes);
    const double gigabytes_per_second = bytes / seconds / 1e9;
    const auto set = [&](const std::string& name, double value) { state.counters[name] = value; };

    set("min_ms", timed_.front().milliseconds);
    set("max_ms", timed_.back().milliseconds);
    set("wall_ms", call_times.wall_milliseconds);
    set("calls", static_cast<double>(timed_.size()));
    set("first_call_ms", first_.wall_milliseconds);
    set("rows_per_second",
        static_cast<double>(data_.cell.build_rows + data_.cell.probe_rows) / seconds);
    set("output_rows", static_cast<double>(statistics.output_rows));
    set("output_resumes", statistics.output_resumes);
    set("first_call_output_resumes", first_.statistics.output_resumes);
    set("bytes_predicted", bytes);
    set("achieved_GBps", gigabytes_per_second);
    set("share_of_copy", gigabytes_per_second / session_.copy_bandwidth);
    set("peak_memory_bytes", static_cast<double>(statistics.peak_memory_bytes));
    set("pool_bytes", static_cast<double>(pool_bytes()));
    for (const auto& [stage, milliseconds] : call_times.stages) set("ms_" + stage, milliseconds);
    state.SetLabel(statistics.plan);
  }

 private:
  CallTimes time_one_call(std::string* fault) {
    using Clock = std::chrono::steady_clock;
    Machine& machine = session_.machine;
    if (session_.options.flush_cache) machine.zero(flushed_.data(), kFlushBytes);

    CallTimes times;
    machine.start_clock();
    const auto start = Clock::now();
    const Result result = join_.join(plan_);
    const std::chrono::duration<double, std::milli> wall = Clock::now() - start;
    times.milliseconds = machine.stop_clock();
    times.wall_milliseconds = wall.count();
    read_statistics(result.get(), times);
    if (fault != nullptr) *fault = join_.find_fault(machine, result.get());
    return times;
  }

  uint64_t pool_bytes() const {
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    call("ask the context", gpujoin_context_get_info, session_.context.get(), &info);
    return info.memory_used_bytes;
  }

  Session& session_;
  const CellData& data_;
  JoinCall join_;
  Memory flushed_;
  gpujoin_plan_options plan_ = GPUJOIN_PLAN_OPTIONS_INIT;
  int calls_;
  CallTimes first_;
  std::vector<CallTimes> timed_;
};

void run_join(benchmark::State& state, Session& session, const Cell& cell,
              gpujoin_algorithm algorithm) {
  const auto fail = [&](const std::string& why) {
    session.has_failed = true;
    state.SkipWithError(why.c_str());
  };
  if (!session.lost.empty()) return fail(session.lost);
  try {
    // Each benchmark meets an empty pool, so that its first call shows what allocation costs.
    call("trim the pool", gpujoin_context_trim, session.context.get());
    Measurement measurement(session, cell, algorithm);
    const std::string fault = measurement.warm_up();
    if (!fault.empty()) return fail(fault);
    for (auto _ : state) {
      measurement.run();
      state.SetIterationTime(measurement.median().milliseconds / 1000);
    }
    measurement.report(state);
  } catch (const LibraryError& error) {
    if (error.status() == GPUJOIN_ERROR_DEVICE_LOST) session.lost = error.what();
    if (error.is_refusal()) return state.SkipWithError(error.what());
    fail(error.what());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

}  // namespace

Session::Session(Machine& machine_, const Options& options_)
    : machine(machine_), options(options_) {
  gpujoin_context_options wishes = GPUJOIN_CONTEXT_OPTIONS_INIT;
  wishes.device = machine.device();
  wishes.cuda_stream = machine.stream();
  gpujoin_context* created = nullptr;
  call("open the device", gpujoin_context_create, &wishes, &created);
  context.reset(created);
  copy_bandwidth = measure_copy_bandwidth(machine);
}

const CellData& Session::data_of(const Cell& cell) {
  if (!data_ || data_->cell.name != cell.name) {
    data_.reset();
    data_.emplace(machine, cell);
  }
  return *data_;
}

void register_joins(Session& session) {
  std::vector<Cell> cells = all_cells();
  for (const Cell& cell : session.options.cells) {
    for (const Cell& other : cells) {
      if (other.name == cell.name) throw std::invalid_argument("two cells named " + cell.name);
    }
    cells.push_back(cell);
  }
  const bool is_cuda = session.machine.device() == GPUJOIN_DEVICE_CUDA;
  for (const Cell& unscaled : cells) {
    const Cell cell = scaled(unscaled, session.options.log2_scale);
    const auto add = [&](const PlanName& plan) {
      const std::string name = "cell/" + cell.name + "/" + plan.text;
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&session, cell, plan](benchmark::State& state) {
                                     run_join(state, session, cell, plan.algorithm);
                                   })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    };
    if (is_cuda) {
      for (const PlanName& plan : kCudaPlans) add(plan);
    } else {
      for (const PlanName& plan : kCpuPlans) add(plan);
    }
  }
}

}  // namespace gpujoin::bench
