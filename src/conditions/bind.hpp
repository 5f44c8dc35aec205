// bind.hpp: a condition's types, against the relations that it is about.
#pragma once

#include <memory>
#include <string>

#include "src/columns/column.hpp"
#include "src/columns/condition.hpp"
#include "src/conditions/bound_condition.hpp"

namespace gpujoin::conditions {

// Throws TYPE, naming the node and its arguments' types. `argument` is what the caller calls the
// condition. expected: of checked form. The relations are not kept, and the executor's may have
// their columns elsewhere; constants are copied.
std::shared_ptr<const BoundCondition> bind(const columns::Condition& condition,
                                           const columns::Relation& left,
                                           const columns::Relation& right,
                                           const std::string& argument = "spec.residual");

}  // namespace gpujoin::conditions
