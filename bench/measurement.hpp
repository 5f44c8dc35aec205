// measurement.hpp: warm-up, check, timed calls and counters of one benchmark
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/query.hpp"
#include "bench/session.hpp"

namespace benchmark {
class State;
}

namespace gpujoin::bench {

// How calls are repeated.
struct Repetition {
  double seconds =
      0;  // as many calls as fit, 3 to 25, or 1 that takes long; 0 = by the input's size
  bool is_pool_emptied = false;  // before every call, so that each one allocates anew
};

// Runs the benchmark of that name: make() gives the query, whose data may take long to make.
// Failures become skips of the state; a refusal of the library is no failure of the run.
void measure(benchmark::State& state, const std::string& name, Session& session,
             const Repetition& repetition, const std::function<std::unique_ptr<Query>()>& make);

}  // namespace gpujoin::bench
