// asof.hpp: an ASOF join's part of a join specification.
#pragma once

#include <optional>

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::shim {

// Nothing where the specification has none.
std::optional<columns::Asof> checked_asof(const gpujoin_join_spec& known,
                                          const columns::Relation& left,
                                          const columns::Relation& right);

}  // namespace gpujoin::shim
