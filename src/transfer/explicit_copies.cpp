// explicit_copies.cpp: host columns are copied whole before the first kernel
//
// Paper    the baseline that Rui & Tu 2017, section 3.4, and Paul et al. 2020 overlap with computation
// Moves    |column| + |validity| over the host link     (traffic::host_copy)
#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::transfer {

namespace {

base::Buffer copy_to_device(base::Context& context, const void* source, base::Memory memory,
                            uint64_t bytes, const std::string& what) {
  base::Buffer target = context.device_pool->allocate(base::Memory::kDevice, bytes, what.c_str());
  base::copy(context, target.data(), base::Memory::kDevice, source, memory, bytes);
  return target;
}

}  // namespace

columns::DeviceColumn to_device(base::Context& context, const columns::ColumnView& column,
                                int64_t rows) {
  columns::DeviceColumn device;
  device.width = column.width;
  device.data = column.data;
  device.validity = column.validity;
  device.validity_bit_offset = column.validity_bit_offset;
  if (column.memory == base::Memory::kDevice || rows == 0) return device;

  std::string const what = "the device copy of column '" + column.name + "'";
  uint64_t const bytes =
      base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
  device.data_copy = copy_to_device(context, column.data, column.memory, bytes, what);
  device.data = device.data_copy.data();
  if (column.validity != nullptr) {
    int64_t const first_byte = column.validity_bit_offset / 8;
    device.validity_bit_offset = column.validity_bit_offset % 8;
    uint64_t const validity_bytes =
        static_cast<uint64_t>((device.validity_bit_offset + rows + 7) / 8);
    device.validity_copy =
        copy_to_device(context, column.validity + first_byte, column.memory, validity_bytes, what);
    device.validity = device.validity_copy.as<uint8_t>();
  }
  return device;
}

}  // namespace gpujoin::transfer
