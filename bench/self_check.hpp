// self_check.hpp: the generators and the check of results, checked against plain host loops
#pragma once

#include <string>
#include <vector>

#include "bench/machine.hpp"

namespace gpujoin::bench {

// What is wrong, a line each; empty when all is well. Takes seconds, and does not use the library.
std::vector<std::string> self_check(Machine& machine);

}  // namespace gpujoin::bench
