// choose_without_equality.hpp: the one plan of a join without keys, whose condition says how its
// pairs are found.
#pragma once

#include <string>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// How pairs are found that the condition may be true of.
enum class PairSearch {
  kNeighbours,  // in one order, of a range join
  kLevels,      // of a wavelet tree over two orders, of a range join
  kNestedLoop,  // all of them
};

struct WithoutEquality {
  PairSearch search = PairSearch::kNestedLoop;
  std::string inequalities;  // "left.a < right.b": what a range join finds them by
  double found = 1;          // of all pairs, the share that is found
  bool is_sampled = false;   // the share is that of some rows; else it is assumed
  bool is_evaluated = true;  // each pair that is found is held against the condition
};

const char* to_text(PairSearch search);

// Throws ILLEGAL_PLAN when a technique is named.
PlanChoice choose_without_equality(const PlanRequest& request, const WithoutEquality& join,
                                   Device device, const base::DeviceFacts& facts);

}  // namespace gpujoin::plan
