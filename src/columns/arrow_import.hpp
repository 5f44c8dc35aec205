// arrow_import.hpp: a relation that views an Arrow record batch and owns it.
#pragma once

#include <memory>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::columns {

// Host memory. Moved in on success: both release members read NULL then. Throws before it moves.
std::shared_ptr<Relation> import_arrow(const std::shared_ptr<base::Context>& context,
                                       ArrowSchema& schema, ArrowArray& array);

// Host, pinned, managed or device memory, with the event after which it may be read.
std::shared_ptr<Relation> import_arrow_device(const std::shared_ptr<base::Context>& context,
                                              ArrowSchema& schema, ArrowDeviceArray& array);

}  // namespace gpujoin::columns
