// zero_copy.cpp: kernels read host columns where they are, over the link
//
// Paper    beside the copies of Rui & Tu 2017, 3.4, and Paul et al. 2020, IV.A; Lin & Liao 2025,
//          4.2, on what pinning costs
// Needs    page-locked memory. Large pageable columns are page-locked for the time of the join;
//          where the system refuses, and small ones, are copied to page-locked memory of the pool
// Moves    what the kernels read, as often as they read it; at random, a sector for each value
//          (traffic::zero_copy)
#include "kernels/tuning.hpp"
#include "src/base/copy.hpp"
#include "src/base/host_memory.hpp"
#include "src/papers/transports.hpp"
#include "src/transfer/host_copies.hpp"

namespace gpujoin::papers {

namespace {

class ZeroCopy final : public transfer::Transport {
 public:
  explicit ZeroCopy(base::Queue& queue) : queue_(queue) {}
  ~ZeroCopy() override {
    // Kernels may still read the caller's memory. A failure here is a lost device, which the next
    // checked call reports.
    cudaStreamSynchronize(base::stream_of(queue_));
    cudaGetLastError();
  }

  columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) override {
    columns::DeviceColumn device = transfer::in_place(column);
    if (column.memory == base::Memory::kDevice || rows == 0) return device;
    uint64_t const bytes =
        base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
    device.data_held = page_locked(column.data, bytes, column.name, &device.data_copy);
    device.data = device.data_held.get();
    if (column.validity == nullptr) return device;
    transfer::ValidityBytes const validity = transfer::validity_bytes(column, 0, rows);
    device.validity_held =
        page_locked(validity.first, validity.bytes, column.name, &device.validity_copy);
    device.validity = static_cast<const uint8_t*>(device.validity_held.get());
    device.validity_bit_offset = validity.bit_offset;
    return device;
  }

 private:
  std::shared_ptr<const void> page_locked(const void* source, uint64_t bytes,
                                          const std::string& name, base::Buffer* copy) {
    bool const in_place =
        bytes >= kernels::kLeastRegisteredBytes || base::is_pinned(queue_.context, source, bytes);
    if (in_place) {
      if (auto held = base::register_pages(queue_.context, source, bytes)) return held;
    }
    *copy = queue_.device_pool->allocate(base::Memory::kPinned, bytes,
                                         ("the page-locked copy of column '" + name + "'").c_str());
    base::finish(queue_);  // what queued work writes to the source
    transfer::copy_on_host(queue_, copy->data(), source, bytes);
    return {std::shared_ptr<const void>(), copy->data()};
  }

  base::Queue& queue_;
};

}  // namespace

std::unique_ptr<transfer::Transport> zero_copy(base::Queue& queue) {
  return std::make_unique<ZeroCopy>(queue);
}

}  // namespace gpujoin::papers
