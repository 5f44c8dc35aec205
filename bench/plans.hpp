// plans.hpp: plans by name, for cells, figures and the command line
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "include/gpujoin.h"

namespace gpujoin::bench {

struct NamedPlan {
  std::string name;
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
};

// The plans that every cell is measured with.
std::vector<NamedPlan> standard_plans(gpujoin_device device);

// "transform=bucket_chains,match=co_partitions,bits=15,...", as bench/results/README.md lists the
// words. Without the word `build` a plan builds on R, as published ones do. Throws
// std::invalid_argument with the reason.
gpujoin_plan_options parse_plan_options(std::string_view text);

// "name:word=value,..."
NamedPlan parse_plan(std::string_view text);

}  // namespace gpujoin::bench
