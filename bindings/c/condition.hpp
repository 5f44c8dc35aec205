// condition.hpp: a caller's condition, checked in its form.
#pragma once

#include <string>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"
#include "src/columns/condition.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT, ABI_MISMATCH or UNSUPPORTED, naming the node: "<argument>.nodes[3]".
// What its nodes' types are is src/conditions/bind.hpp's to say.
columns::Condition checked_condition(const gpujoin_condition* given, const base::Context& context,
                                     const columns::Relation& left, const columns::Relation& right,
                                     const std::string& argument);

}  // namespace gpujoin::shim
