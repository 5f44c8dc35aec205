// arrow_export.hpp: a page of a result as an Arrow struct array.
#pragma once

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// In host memory: shares a host result's memory, copies a device result into pinned memory.
// Throws with schema, array and page untouched.
void export_page(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                 ArrowSchema& schema, ArrowArray& array);

// Where the result lies, always without a copy.
void export_page_device(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                        ArrowSchema& schema, ArrowDeviceArray& array);

}  // namespace gpujoin::columns
