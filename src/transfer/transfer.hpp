// transfer.hpp: the transfer stage: columns where the device can read them.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/columns/column.hpp"
#include "src/columns/device_column.hpp"

namespace gpujoin::transfer {

// Explicit copies: queued on the context's stream for host columns, nothing for device columns.
columns::DeviceColumn to_device(base::Context& context, const columns::ColumnView& column,
                                int64_t rows);

}  // namespace gpujoin::transfer
