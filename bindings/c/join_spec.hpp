// join_spec.hpp: the caller's specification and options, checked against the relations.
#pragma once

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED or TYPE.
columns::JoinSpec checked_spec(const gpujoin_join_spec* given, const columns::Relation& left,
                               const columns::Relation& right);

// All automatic for NULL. Throws NO_DEVICE when CUDA is asked of a context on the CPU; whether the
// techniques fit together is the planner's to say.
gpujoin_plan_options checked_options(const gpujoin_plan_options* given,
                                     const base::Context& context);

}  // namespace gpujoin::shim
