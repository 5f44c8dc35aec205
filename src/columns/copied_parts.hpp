// copied_parts.hpp: dictionaries and the buffers of views, brought to the memory that a result is
// exported to.
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/arrow_nodes.hpp"

namespace gpujoin::columns {

// What the column's values name, copied whole; complete after base::finish. Throws UNSUPPORTED for
// dictionaries of nested types.
std::shared_ptr<const ColumnParts> copied_parts(base::Queue& queue, const ExportedColumn& column,
                                                base::Memory to);

}  // namespace gpujoin::columns
