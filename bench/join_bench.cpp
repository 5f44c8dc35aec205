// join_bench.cpp: cell/<name>/<plan>, the time of one gpujoin_join
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "bench/join_call.hpp"
#include "bench/measurement.hpp"
#include "bench/session.hpp"

namespace gpujoin::bench {

Session::Session(Machine& machine_, const Options& options_)
    : machine(machine_), options(options_), data(machine_) {
  gpujoin_context_options wishes = GPUJOIN_CONTEXT_OPTIONS_INIT;
  wishes.device = machine.device();
  wishes.cuda_stream = machine.stream();
  if (!options.calibration.empty()) wishes.calibration_path = options.calibration.c_str();
  gpujoin_context* created = nullptr;
  call("open the device", gpujoin_context_create, &wishes, &created);
  context.reset(created);
  copy_bandwidth = measure_copy_bandwidth(machine);
}

void register_cells(Session& session) {
  std::vector<Cell> cells = all_cells();
  for (const Cell& cell : session.options.cells) {
    for (const Cell& other : cells) {
      if (other.name == cell.name) throw std::invalid_argument("two cells named " + cell.name);
    }
    cells.push_back(cell);
  }
  std::vector<NamedPlan> plans = standard_plans(session.machine.device());
  plans.insert(plans.end(), session.options.plans.begin(), session.options.plans.end());
  for (const Cell& unscaled : cells) {
    const Cell cell = scaled(unscaled, session.options.log2_scale);
    for (const NamedPlan& plan : plans) {
      const std::string name = "cell/" + cell.name + "/" + plan.name;
      const auto run = [&session, cell, plan, name](benchmark::State& state) {
        measure(state, name, session, Repetition(), [&] {
          return std::make_unique<JoinCall>(session.context.get(), session.machine, session.data,
                                            cell, plan.options);
        });
      };
      benchmark::RegisterBenchmark(name.c_str(), run)
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace gpujoin::bench
