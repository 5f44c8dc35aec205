// aggregates.hpp: spec.aggregates and spec.group_side, checked against the relations.
#pragma once

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::shim {

// Fills in the aggregates and what they stand in the place of. expected: the rest of the spec is
// checked.
void take_aggregates(const gpujoin_join_spec& known, const columns::Relation& left,
                     const columns::Relation& right, columns::JoinSpec* spec);

}  // namespace gpujoin::shim
