// engine.hpp: one simulated run: a build, and operations on it at the same time, by the calls that
// an engine makes.
#pragma once

#include <string>
#include <vector>

#include "tests/simulator/draw.hpp"

namespace gpujoin_test {

struct RunReport {
  std::vector<std::string> wrong;          // empty: all was as drawn
  std::vector<gpujoin_status> ended_with;  // calls that failed, as was allowed
  int64_t right_answers = 0;               // operations of which all rows were compared
  bool was_in_partitions = false;
};

// may_fail: besides what was drawn calls may answer these. All handles but the context are
// destroyed when it returns.
RunReport simulate(const RunDraw& draw, gpujoin_context* context,
                   const std::vector<gpujoin_status>& may_fail = {});

// Two small tables, joined in one call: empty, or what was wrong.
std::string wrong_of_a_small_join(gpujoin_context* context);

}  // namespace gpujoin_test
