// managed_memory.cpp: host columns in memory that migrates
//
// Paper    UMJ and UMJ-PF, Paul et al. 2020, IV.A.4 and V.C.3. Differs: a caller's column that is
//          no managed memory is first copied to some by the CPU; prefetches run on the copy stream,
//          a column at a time, under the transform of what has arrived
// Moves    |column| + |validity| in whole pages over the host link     (traffic::page_migration)
#include <algorithm>
#include <map>

#include "src/base/copy.hpp"
#include "src/base/host_memory.hpp"
#include "src/base/status.hpp"
#include "src/papers/transports.hpp"
#include "src/transfer/host_copies.hpp"

namespace gpujoin::papers {

namespace {

class ManagedMemory final : public transfer::Transport {
 public:
  ManagedMemory(base::Queue& queue, bool prefetched) : queue_(queue), prefetched_(prefetched) {
    base::check_managed_memory(queue.context);
    if (prefetched) stream_ = base::copy_stream(queue, base::Direction::kToDevice);
  }
  ~ManagedMemory() override {
    // Kernels that fault on the caller's own managed memory, and prefetches of it. A failure here
    // is a lost device, which the next checked call reports.
    cudaStreamSynchronize(base::stream_of(queue_));
    if (prefetched_) cudaStreamSynchronize(stream_);
    cudaGetLastError();
  }

  columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) override {
    columns::DeviceColumn device = transfer::in_place(column);
    if (rows == 0) return device;
    std::string const what = "the managed copy of column '" + column.name + "'";
    uint64_t const bytes =
        base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
    device.data_copy = bring_bytes(column.memory, column.data, bytes, what, &device.arrival);
    if (device.data_copy) device.data = device.data_copy.data();
    if (column.validity == nullptr) return device;
    transfer::ValidityBytes const validity = transfer::validity_bytes(column, 0, rows);
    device.validity_copy =
        bring_bytes(column.memory, validity.first, validity.bytes, what, &device.arrival);
    if (device.validity_copy) {
      device.validity = device.validity_copy.as<uint8_t>();
      device.validity_bit_offset = validity.bit_offset;
    }
    return device;
  }

  void await(const columns::DeviceColumn& column) override {
    auto const sent = sent_.find(column.arrival);
    if (sent == sent_.end()) return;
    sent->second.hold(base::stream_of(queue_));
    sent_.erase(sent);
  }

 private:
  // Empty: the bytes are used where they are.
  base::Buffer bring_bytes(base::Memory memory, const void* source, uint64_t bytes,
                           const std::string& what, uint64_t* arrival) {
    base::Buffer copy;
    const void* managed = source;
    if (!base::is_managed(queue_.context, source)) {
      if (memory == base::Memory::kDevice) return copy;
      copy = allocate(bytes, what);
      transfer::copy_on_host(queue_, copy.data(), source, bytes);
      managed = copy.data();
    }
    if (prefetched_) {
      base::prefetch_to_device(queue_.context, managed, bytes, stream_);
      if (*arrival == 0) *arrival = ++numbers_;
      sent_[*arrival].record(stream_);
    }
    return copy;
  }

  // A block of an earlier join is still on the device; each page that the CPU met there would be a
  // fault of its own.
  base::Buffer allocate(uint64_t bytes, const std::string& what) {
    make_room(bytes, what);
    base::Buffer block = queue_.device_pool->allocate(base::Memory::kManaged, bytes, what.c_str());
    cudaStream_t const back = base::copy_stream(queue_, base::Direction::kFromDevice);
    base::prefetch_to_host(block.data(), bytes, back);
    base::check(cudaStreamSynchronize(back), "bringing managed memory to the host");
    // What queued work writes to the source is there when the stream has come this far.
    base::finish(queue_);
    promised_ += bytes;
    return block;
  }

  // Paging more than the device has would have columns push each other out.
  void make_room(uint64_t bytes, const std::string& what) {
    if (promised_ + bytes <= room_) return;
    queue_.device_pool->account().trim();
    if (prefetched_) base::check(cudaStreamSynchronize(stream_), "waiting for prefetches");
    room_ = base::free_device_bytes() + (prefetched_ ? promised_ : 0);
    if (promised_ + bytes <= room_) return;
    base::fail(GPUJOIN_ERROR_OUT_OF_MEMORY,
               "no room for %s: %llu bytes of managed memory asked for, %llu free on the device",
               what.c_str(), static_cast<unsigned long long>(bytes),
               static_cast<unsigned long long>(room_ - std::min(room_, promised_)));
  }

  base::Queue& queue_;
  bool prefetched_;
  cudaStream_t stream_ = nullptr;
  uint64_t room_ = base::free_device_bytes();  // of the device when nothing was promised
  uint64_t promised_ = 0;                      // bytes that migrate to it
  std::map<uint64_t, base::Event> sent_;       // by arrival, what was not awaited yet
  uint64_t numbers_ = 0;
};

}  // namespace

std::unique_ptr<transfer::Transport> managed_memory(base::Queue& queue, bool prefetched) {
  return std::make_unique<ManagedMemory>(queue, prefetched);
}

}  // namespace gpujoin::papers
