// late_payloads.hpp: which output columns of picked rows are not copied, but fetched of the rows
// that come out, where few of those that are picked are expected to: by plan/late_rule.hpp.
#pragma once

#include "gpujoin.h"
#include "src/base/device_facts.hpp"
#include "src/columns/column.hpp"
#include "src/execute/selected.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// What a join of two relations reads of each, of which rows may be picked.
struct SidesOfJoin {
  SideOfJoin left;
  SideOfJoin right;
};

// facts: of the executor.
SidesOfJoin sides_of(const columns::Relation& left, const columns::Relation& right,
                     const columns::JoinSpec& spec, const gpujoin_plan_options& options,
                     plan::Device device, const base::DeviceFacts& facts);

}  // namespace gpujoin::execute
