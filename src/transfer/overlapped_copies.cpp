// overlapped_copies.cpp: host columns on their way while what has arrived is worked on
//
// Paper    Rui & Tu 2017, section 3.4; Paul et al. 2020, IV.A.2, figure 2: one relation is
//          partitioned while the other one is in flight. Differs: every column has an arrival of
//          its own, so that payloads travel under partitions and match as well
// Moves    |column| + |validity| over the host link     (traffic::host_copy; of pageable memory
//          traffic::staged_copy)
#include "src/base/host_memory.hpp"
#include "src/transfer/transfer.hpp"
#include "src/transfer/uploads.hpp"

namespace gpujoin::transfer {

namespace {

class OverlappedCopies final : public Transport {
 public:
  explicit OverlappedCopies(base::Queue& queue) : queue_(queue), uploads_(queue) {}

  columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) override {
    columns::DeviceColumn device = in_place(column);
    if (column.memory == base::Memory::kDevice || rows == 0) return device;
    base::Pool& pool = *queue_.device_pool;
    std::string const what = "the device copy of column '" + column.name + "'";
    std::vector<Uploads::Segment> segments(1);
    segments[0].source = column.data;
    segments[0].bytes =
        base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
    device.data_copy = pool.allocate(base::Memory::kDevice, segments[0].bytes, what.c_str());
    segments[0].target = device.data_copy.data();
    device.data = device.data_copy.data();
    if (column.validity != nullptr) {
      ValidityBytes const validity = validity_bytes(column, 0, rows);
      device.validity_copy = pool.allocate(base::Memory::kDevice, validity.bytes, what.c_str());
      device.validity = device.validity_copy.as<uint8_t>();
      device.validity_bit_offset = validity.bit_offset;
      segments.push_back({device.validity_copy.data(), validity.first, validity.bytes});
    }
    device.arrival = uploads_.copy(segments);
    return device;
  }

  void await(const columns::DeviceColumn& column) override {
    if (column.arrival != 0) uploads_.await(column.arrival);
  }

 private:
  base::Queue& queue_;
  Uploads uploads_;
};

}  // namespace

std::unique_ptr<Transport> overlapped_copies(base::Queue& queue) {
  return std::make_unique<OverlappedCopies>(queue);
}

}  // namespace gpujoin::transfer
