// looked_keys.hpp: what the look at keys that chose a plan tells of its build keys.
#pragma once

#include <optional>

#include "src/execute/execute.hpp"
#include "src/execute/seen_keys.hpp"
#include "src/transform/filter_keys.hpp"

namespace gpujoin::execute {

// Of the plan's build keys as they are; null: no scan has read of them. Others may lie beyond.
const plan::KeyRange* drawn_range(const PlannedJoin& join, const plan::JoinPlan& plan);

// Where the look says that both sides' keys lie, and some beyond either end: likely all of them.
// Nullopt: it does not.
std::optional<transform::ExpectedRanges> expected_ranges(const PlannedJoin& join,
                                                         const plan::JoinPlan& plan,
                                                         int32_t key_width);

// The part of the build rows whose keys lie in the probe side's range; 0: the look did not count.
double build_within(const PlannedJoin& join, const plan::JoinPlan& plan);

// Of all of them, where the look read all of a column that lies on the device. Not of keys in
// order: whether one step leads from each to the next, where rows need not be placed, it does not
// tell. A table of them spares a launch and a wait, but where its rows are placed by their tiles.
std::optional<SeenKeys> keys_seen_by_look(const PlannedJoin& join, const plan::JoinPlan& plan);

}  // namespace gpujoin::execute
