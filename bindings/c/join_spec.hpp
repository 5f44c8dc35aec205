// join_spec.hpp: the caller's specification and options, checked against the relations.
#pragma once

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED or TYPE.
columns::JoinSpec checked_spec(const gpujoin_join_spec* given, const columns::Relation& left,
                               const columns::Relation& right);

// All automatic for NULL. Whether the techniques fit together, and whether the device is there, is
// the planner's to say.
gpujoin_plan_options checked_options(const gpujoin_plan_options* given);

}  // namespace gpujoin::shim
