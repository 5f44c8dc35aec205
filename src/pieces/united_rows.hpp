// united_rows.hpp: relations of the device as one.
#pragma once

#include <memory>
#include <span>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// Their rows, one behind the other; the one that there is, as it is. Waits for the copies. Null:
// there are too many rows for one relation, the device has no room for copies, or a column has
// NULLs or lies otherwise than as values. Throws what CUDA does.
std::shared_ptr<const columns::Relation> united(
    base::Queue& queue, std::span<const std::shared_ptr<const columns::Relation>> parts);

}  // namespace gpujoin::pieces
