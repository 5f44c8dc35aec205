// side_rule.hpp: where keys of the smaller side are seen to repeat, those of the larger one are
// more likely unique, and it is built on. Sides that are seen in order are merged.
#pragma once

#include <cstdint>
#include <vector>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// Of the same number of rows drawn of each side: those whose key another one has. Build and probe
// as build_side_of says.
struct SeenRepeats {
  uint32_t build = 0;
  uint32_t probe = 0;
  bool in_order = false;  // keys of neither side go down, from a row drawn to those behind it
};

// Whether a side has not many more rows than the one whose keys repeat: of more there are tables to
// make that cost more than what repeated keys do.
inline bool has_as_many(int64_t others, int64_t rows) {
  constexpr int64_t kMostTimes = 4;
  return others / kMostTimes <= rows;
}

// Of an inner join in one launch: how many of the first build rows may be seen to have a key that
// comes twice among 32 rows side by side until the other side is built on, if its keys repeat less;
// UINT32_MAX: any number.
uint32_t most_repeats_seen(const std::vector<Attempt>& attempts, const Attempt& attempt,
                           const PlanRequest& request);

// Whether to glance at the keys of a join in partitions that was planned without a look.
bool pays_to_glance(const JoinPlan& plan, const PlanRequest& request);
// And what says that the other side than the one that was looked at as the build side is to be.
bool repeats_less(const SeenRepeats& seen);

}  // namespace gpujoin::plan
