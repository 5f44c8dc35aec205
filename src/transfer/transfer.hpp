// transfer.hpp: the transfer stage: columns where the device can read them.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/device_column.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::transfer {

// How the host columns of one join reach the device. Destroyed before the columns that it brought:
// then nothing that it queued reads the caller's memory any more, and nothing writes the columns'.
class Transport {
 public:
  virtual ~Transport() = default;
  // The column where kernels read it, once it is awaited; the order of calls is the order on the
  // link. Device columns and columns without rows pass through as they are.
  virtual columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) = 0;
  // What is queued on the queue's stream from here on may read the column.
  virtual void await(const columns::DeviceColumn&) {}
};

// Of every technique but kProbeChunks, whose executor moves the probe side by itself. Throws
// UNSUPPORTED where the device or the platform lacks what the technique needs.
std::unique_ptr<Transport> make_transport(base::Queue& queue, plan::Transfer technique);

// Explicit copies: queued on the queue's stream for host columns, nothing for device columns.
columns::DeviceColumn to_device(base::Queue& queue, const columns::ColumnView& column,
                                int64_t rows);

std::unique_ptr<Transport> explicit_copies(base::Queue& queue);
std::unique_ptr<Transport> overlapped_copies(base::Queue& queue);

// The bytes of a column's validity that hold bits of `rows` rows from `first_row` on.
struct ValidityBytes {
  const uint8_t* first = nullptr;
  uint64_t bytes = 0;
  int64_t bit_offset = 0;  // of the first row, in the first byte
};
ValidityBytes validity_bytes(const columns::ColumnView& column, int64_t first_row, int64_t rows);

// The column as it is registered, nothing copied.
columns::DeviceColumn in_place(const columns::ColumnView& column);

}  // namespace gpujoin::transfer
