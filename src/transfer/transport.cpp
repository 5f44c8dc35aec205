// transport.cpp: from the plan's value to its technique, and what the techniques share.
#include "src/base/status.hpp"
#include "src/papers/papers.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::transfer {

std::unique_ptr<Transport> make_transport(base::Queue& queue, plan::Transfer technique) {
  switch (technique) {
    case plan::Transfer::kNone:  // of a key on the device; what else is on the host is copied
    case plan::Transfer::kExplicitCopies:
      return explicit_copies(queue);
    case plan::Transfer::kOverlappedCopies:
      return overlapped_copies(queue);
    case plan::Transfer::kManaged:
    case plan::Transfer::kManagedPrefetch:
    case plan::Transfer::kZeroCopy:
      return papers::make_transport(queue, technique);
    case plan::Transfer::kProbeChunks:
      break;
  }
  base::fail(GPUJOIN_ERROR_INTERNAL, "transfer=%s brings no columns", plan::to_text(technique));
}

ValidityBytes validity_bytes(const columns::ColumnView& column, int64_t first_row, int64_t rows) {
  int64_t const first_bit = column.validity_bit_offset + first_row;
  ValidityBytes found;
  found.first = column.validity + first_bit / 8;
  found.bit_offset = first_bit % 8;
  found.bytes = static_cast<uint64_t>((found.bit_offset + rows + 7) / 8);
  return found;
}

columns::DeviceColumn in_place(const columns::ColumnView& column) {
  columns::DeviceColumn device;
  device.width = column.width;
  device.data = column.data;
  device.validity = column.validity;
  device.validity_bit_offset = column.validity_bit_offset;
  return device;
}

}  // namespace gpujoin::transfer
