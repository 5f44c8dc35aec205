// measurement.cpp: the time of one call
//
// Timed    one gpujoin_join (or what the query calls), planning and execution, from data where the
//          query has it to a result in the machine's memory, or in the host's where it is fetched;
//          by two events on the context's stream, so that work of the host counts as idle device
//          time.
// Not      the two or more calls that warm up and grow the pool (the first is reported apart), the
//          check of the first result, the destruction of results.
// Reported the median of the timed calls as real_time; bytes as the library's traffic functions
//          predict them.
#include "bench/measurement.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace gpujoin::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kFlushBytes = uint64_t{256} << 20;  // several times the largest L2 cache
// Milliseconds: one call of so many says enough, where calls are counted by time.
constexpr double kLongCall = 300;
// Of a call's time: a shorter stage's rate says nothing. (The CPU fetches columns in its match, and
// the bytes that are predicted for materialize are not moved there.)
constexpr double kShownShare = 0.01;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Stage {
  double milliseconds = 0;
  double bytes = 0;  // predicted
};

struct CallTimes {
  double milliseconds = 0;       // by the machine's clock
  double wall_milliseconds = 0;  // as the caller sees it
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  std::map<std::string, Stage> stages;  // those of one name together
};

void read_statistics(gpujoin_result* result, CallTimes& times) {
  call("read the statistics", gpujoin_result_get_statistics, result, &times.statistics);
  for (int32_t i = 0; i < times.statistics.stage_count; ++i) {
    gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
    call("read a stage", gpujoin_result_get_stage, result, i, &stage);
    // "steps[1].match" of a sequence is its match, as that of every other step.
    const std::string name = stage.stage;
    const size_t dot = name.rfind('.');
    Stage& sum = times.stages[dot == name.npos ? name : name.substr(dot + 1)];
    sum.milliseconds += stage.milliseconds;
    sum.bytes += static_cast<double>(stage.predicted_bytes);
  }
}

class Measurement {
 public:
  Measurement(Session& session, const Query& query, const Repetition& repetition)
      : session_(session),
        query_(query),
        repetition_(repetition),
        flushed_(session.machine, session.options.flush_cache ? kFlushBytes : 0) {
    const int64_t rows = query.largest_input();
    calls_ = rows > 20'000'000 ? 5 : rows > 2'000'000 ? 25 : rows > 200'000 ? 51 : 201;
    if (session.options.calls > 0) calls_ = session.options.calls;
  }

  // Checks the first result, and calls until all pools are warm. Empty, or the fault found.
  std::string warm_up() {
    std::string fault;
    first_ = time_one_call(&fault);
    if (!fault.empty()) return fault;
    const bool by_time = repetition_.seconds > 0 && session_.options.calls == 0;
    CallTimes warm;
    for (int i = 0; i < (calls_ > 50 && !by_time ? 10 : 1); ++i) warm = time_one_call(nullptr);
    if (!by_time) return "";
    if (warm.milliseconds > kLongCall) {
      timed_.push_back(warm);
      calls_ = 0;
    } else {
      calls_ = std::clamp(static_cast<int>(1000 * repetition_.seconds / warm.milliseconds), 3, 25);
    }
    return "";
  }

  void run() {
    for (int i = 0; i < calls_; ++i) timed_.push_back(time_one_call(nullptr));
    for (const CallTimes& times : timed_) {
      if (static_cast<uint64_t>(times.statistics.output_rows) != query_.expected_rows()) {
        throw std::runtime_error("WRONG RESULT: a later call has another number of rows");
      }
    }
    std::sort(timed_.begin(), timed_.end(), [](const CallTimes& a, const CallTimes& b) {
      return a.milliseconds < b.milliseconds;
    });
  }

  std::vector<KernelFigures> trace() const {
    return session_.kernel_trace->trace([&] {
      const Result result = query_.call_library();
      query_.fetch(result.get());
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
    set("rows_per_second", static_cast<double>(query_.input_rows()) / seconds);
    set("output_rows", static_cast<double>(statistics.output_rows));
    set("output_resumes", statistics.output_resumes);
    set("first_call_output_resumes", first_.statistics.output_resumes);
    set("bytes_predicted", bytes);
    set("achieved_GBps", gigabytes_per_second);
    set("share_of_copy", gigabytes_per_second / session_.copy_bandwidth);
    set("peak_memory_bytes", static_cast<double>(statistics.peak_memory_bytes));
    if (const auto row_bytes = query_.output_row_bytes()) {
      const double output =
          static_cast<double>(statistics.output_rows) * static_cast<double>(*row_bytes);
      set("output_bytes", output);
      set("beyond_input_output_bytes", static_cast<double>(statistics.peak_memory_bytes) - output);
    }
    set("pool_bytes", static_cast<double>(pool_bytes()));
    for (const auto& [name, stage] : call_times.stages) {
      set("ms_" + name, stage.milliseconds);
      set("bytes_" + name, stage.bytes);
      if (stage.milliseconds > kShownShare * call_times.milliseconds) {
        set("GBps_" + name, stage.bytes / stage.milliseconds / 1e6);
      }
    }
    state.SetLabel(statistics.plan);
  }

 private:
  void empty_pool() const { call("trim the pool", gpujoin_context_trim, session_.context.get()); }

  CallTimes time_one_call(std::string* fault) const {
    Machine& machine = session_.machine;
    if (session_.options.flush_cache) machine.zero(flushed_.data(), kFlushBytes);
    if (repetition_.is_pool_emptied) empty_pool();

    CallTimes times;
    machine.start_clock();
    const auto start = Clock::now();
    const Result result = query_.call_library();
    const auto joined = Clock::now();
    query_.fetch(result.get());
    if (query_.is_fetched()) times.stages["fetch"].milliseconds = milliseconds_since(joined);
    times.wall_milliseconds = milliseconds_since(start);
    times.milliseconds = machine.stop_clock();
    read_statistics(result.get(), times);
    if (fault != nullptr) *fault = query_.find_fault(result.get());
    return times;
  }

  uint64_t pool_bytes() const {
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    call("ask the context", gpujoin_context_get_info, session_.context.get(), &info);
    return info.memory_used_bytes;
  }

  Session& session_;
  const Query& query_;
  Repetition repetition_;
  Memory flushed_;
  int calls_;
  CallTimes first_;
  std::vector<CallTimes> timed_;
};

}  // namespace

void measure(benchmark::State& state, const std::string& name, Session& session,
             const Repetition& repetition, const std::function<std::unique_ptr<Query>()>& make) {
  const auto fail = [&](const std::string& why) {
    session.has_failed = true;
    state.SkipWithError(why.c_str());
  };
  if (!session.lost.empty()) return fail(session.lost);
  const auto start = Clock::now();
  try {
    // Each benchmark meets an empty pool, so that its first call shows what allocation costs.
    call("trim the pool", gpujoin_context_trim, session.context.get());
    const std::unique_ptr<Query> query = make();
    Measurement measurement(session, *query, repetition);
    const std::string fault = measurement.warm_up();
    if (!fault.empty()) return fail(fault);
    for (auto _ : state) {
      measurement.run();
      state.SetIterationTime(measurement.median().milliseconds / 1000);
    }
    measurement.report(state);
    if (session.kernel_trace != nullptr) session.kernels.emplace_back(name, measurement.trace());
    state.counters["spent_seconds"] = milliseconds_since(start) / 1000;
  } catch (const LibraryError& error) {
    if (error.status() == GPUJOIN_ERROR_DEVICE_LOST) session.lost = error.what();
    if (error.is_refusal()) return state.SkipWithError(error.what());
    fail(error.what());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

}  // namespace gpujoin::bench
