// key_rule.hpp: which plans join which keys: one column, several as they are, or a code of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {

// Why the plan cannot join so many key columns, or nullopt.
std::optional<std::string> why_keys_illegal(const JoinPlan& plan, int32_t key_count);

}  // namespace gpujoin::plan
