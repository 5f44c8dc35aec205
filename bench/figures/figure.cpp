#include "bench/figures/figure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <stdexcept>

#include "bench/join_call.hpp"
#include "bench/measurement.hpp"
#include "bench/sequence_call.hpp"

namespace gpujoin::bench {

namespace {

constexpr double kSecondsOfCalls = 0.1;  // of each point of each series

// Whether a name of the command line covers the figure: "all", the paper, or the figure.
bool is_named(const std::string& wish, const Figure& figure) {
  const auto covers = [&](const std::string& name) {
    return wish == "all" || name == wish || name.starts_with(wish + "/");
  };
  return covers(figure.name) || std::any_of(figure.also.begin(), figure.also.end(), covers);
}

std::unique_ptr<Query> query_of(Session& session, const Cell& cell, int joins,
                                const gpujoin_plan_options& plan) {
  if (joins == 0) {
    return std::make_unique<JoinCall>(session.context.get(), session.machine, session.data, cell,
                                      plan);
  }
  return std::make_unique<SequenceCall>(
      session.context.get(), session.machine,
      Sequence{static_cast<uint64_t>(cell.probe_rows), static_cast<uint64_t>(cell.build_rows)},
      joins, plan);
}

void register_figure(Session& session, const Figure& figure) {
  for (const Panel& panel : figure.panels) {
    for (const Point& point : panel.points) {
      const Cell cell = scaled(point.cell, session.options.log2_scale);
      for (const Series& series : panel.series) {
        if (series.most_rows > 0 && point.cell.probe_rows > series.most_rows) continue;
        const std::string name =
            figure.name + "/" + panel.name + "/" + series.name + "/" + point.name;
        const auto run = [&session, cell, series, name, x = point.x,
                          joins = point.joins](benchmark::State& state) {
          measure(state, name, session, Repetition{kSecondsOfCalls, series.is_pool_emptied},
                  [&] { return query_of(session, cell, joins, series.plan); });
          state.counters["x"] = x;
        };
        benchmark::RegisterBenchmark(name.c_str(), run)
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace

Series series(std::string name, const std::string& plan) {
  return {std::move(name), parse_plan_options(plan)};
}

Series with_pool_emptied(Series series) {
  series.is_pool_emptied = true;
  return series;
}

Series up_to(int64_t rows, Series series) {
  series.most_rows = rows;
  return series;
}

Point point(std::string name, double x, const std::string& cell) {
  return {std::move(name), x, parse_cell("point:" + cell)};
}

void register_figures(Session& session) {
  std::vector<std::string> wishes = session.options.figures;
  std::vector<bool> is_met(wishes.size());
  for (const auto& figures : {wu_figures(), paul_figures(), rui_figures(), lin_figures()}) {
    for (const Figure& figure : figures) {
      bool is_wanted = false;
      for (size_t i = 0; i < wishes.size(); ++i) {
        if (!is_named(wishes[i], figure)) continue;
        is_met[i] = true;
        is_wanted = true;
      }
      if (is_wanted) register_figure(session, figure);
    }
  }
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (!is_met[i]) throw std::invalid_argument("no such figure: " + wishes[i]);
  }
}

}  // namespace gpujoin::bench
