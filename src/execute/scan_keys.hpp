// scan_keys.hpp: what the build keys tell before a table of addresses is made of them.
#pragma once

#include "src/execute/execute.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/execute/seen_keys.hpp"
#include "src/plan/attempts.hpp"

namespace gpujoin::execute {

// Of an attempt that makes such a table where no look at keys chose it: why it would be in vain,
// before anything is placed; else, and of other attempts, kJoined. plan and seen are told what was
// found. Waits for the stream where it scans. Throws.
plan::Finding scan_keys(base::Queue& queue, const PlannedJoin& join, const plan::Attempt& attempt,
                        GpuSide& build, GpuSide& probe, plan::JoinPlan* plan, SeenKeys* seen);

}  // namespace gpujoin::execute
