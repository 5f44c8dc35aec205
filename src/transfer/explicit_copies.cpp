// explicit_copies.cpp: host columns are copied whole before the first kernel
//
// Paper    the baseline that Rui & Tu 2017, section 3.4, and Paul et al. 2020 overlap with
//          computation
// Moves    |column| + |validity| over the host link     (traffic::host_copy)
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::transfer {

namespace {

base::Buffer copy_to_device(base::Queue& queue, const void* source, base::Memory memory,
                            uint64_t bytes, const std::string& what) {
  base::Buffer target = queue.device_pool->allocate(base::Memory::kDevice, bytes, what.c_str());
  base::copy(queue, target.data(), base::Memory::kDevice, source, memory, bytes);
  return target;
}

class ExplicitCopies final : public Transport {
 public:
  explicit ExplicitCopies(base::Queue& queue) : queue_(queue) {}
  ~ExplicitCopies() override {
    // Of a join that failed, copies from page-locked memory may still be on the link. A failure
    // here is a lost device, which the next checked call reports.
    if (copied_) cudaStreamSynchronize(base::stream_of(queue_));
    cudaGetLastError();
  }
  columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) override {
    copied_ = copied_ || column.memory != base::Memory::kDevice;
    return to_device(queue_, column, rows);
  }

 private:
  base::Queue& queue_;
  bool copied_ = false;
};

}  // namespace

columns::DeviceColumn to_device(base::Queue& queue, const columns::ColumnView& column,
                                int64_t rows) {
  columns::DeviceColumn device = in_place(column);
  if (column.memory == base::Memory::kDevice || rows == 0) return device;

  std::string const what = "the device copy of column '" + column.name + "'";
  uint64_t const bytes =
      base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
  device.data_copy = copy_to_device(queue, column.data, column.memory, bytes, what);
  device.data = device.data_copy.data();
  if (column.validity != nullptr) {
    ValidityBytes const validity = validity_bytes(column, 0, rows);
    device.validity_copy =
        copy_to_device(queue, validity.first, column.memory, validity.bytes, what);
    device.validity = device.validity_copy.as<uint8_t>();
    device.validity_bit_offset = validity.bit_offset;
  }
  return device;
}

std::unique_ptr<Transport> explicit_copies(base::Queue& queue) {
  return std::make_unique<ExplicitCopies>(queue);
}

}  // namespace gpujoin::transfer
