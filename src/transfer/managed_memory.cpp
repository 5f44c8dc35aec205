// managed_memory.cpp: host columns in memory that migrates
//
// Paper    UMJ and UMJ-PF, Paul et al. 2020, IV.A.4 and V.C.3. Differs: a caller's column that is no managed memory is first copied
//          to some by the CPU; prefetches run on the copy stream, a column at a time, under the transform of what has arrived
// Moves    |column| + |validity| in whole pages over the host link     (traffic::page_migration)
#include "src/base/copy.hpp"
#include "src/base/host_memory.hpp"
#include "src/transfer/host_copies.hpp"
#include "src/transfer/transfer.hpp"

#include <map>

namespace gpujoin::transfer {

namespace {

class ManagedMemory final : public Transport {
 public:
  ManagedMemory(base::Context& context, bool prefetched)
      : context_(context), prefetched_(prefetched) {
    base::check_managed_memory(context);
    if (prefetched) stream_ = base::copy_stream(context, base::Direction::kToDevice);
  }
  ~ManagedMemory() override {
    // Kernels that fault on the caller's own managed memory, and prefetches of it. A failure here is a lost device, which the
    // next checked call reports.
    cudaStreamSynchronize(base::stream_of(context_));
    if (prefetched_) cudaStreamSynchronize(stream_);
    cudaGetLastError();
  }

  columns::DeviceColumn bring(const columns::ColumnView& column, int64_t rows) override {
    columns::DeviceColumn device = in_place(column);
    if (rows == 0) return device;
    std::string const what = "the managed copy of column '" + column.name + "'";
    uint64_t const bytes =
        base::checked_bytes(static_cast<uint64_t>(rows), static_cast<uint64_t>(column.width));
    device.data_held = bring_bytes(column.memory, column.data, bytes, what, &device.arrival);
    if (device.data_held != nullptr) device.data = device.data_held.get();
    if (column.validity == nullptr) return device;
    ValidityBytes const validity = validity_bytes(column, 0, rows);
    device.validity_held =
        bring_bytes(column.memory, validity.first, validity.bytes, what, &device.arrival);
    if (device.validity_held != nullptr) {
      device.validity = static_cast<const uint8_t*>(device.validity_held.get());
      device.validity_bit_offset = validity.bit_offset;
    }
    return device;
  }

  void await(const columns::DeviceColumn& column) override {
    auto const sent = sent_.find(column.arrival);
    if (sent == sent_.end()) return;
    sent->second.hold(base::stream_of(context_));
    sent_.erase(sent);
  }

 private:
  // Null: the bytes are used where they are.
  std::shared_ptr<const void> bring_bytes(base::Memory memory, const void* source, uint64_t bytes,
                                          const std::string& what, uint64_t* arrival) {
    std::shared_ptr<base::ManagedBlock> block;
    const void* managed = source;
    if (!base::is_managed(context_, source)) {
      if (memory == base::Memory::kDevice) return nullptr;
      block = std::make_shared<base::ManagedBlock>(context_, bytes, what.c_str());
      // The block is there, and what queued work writes to the source, when the stream has come this far.
      base::finish(context_);
      copy_on_host(context_, block->data(), source, bytes);
      managed = block->data();
    }
    if (prefetched_) {
      base::prefetch(context_, managed, bytes, stream_);
      if (*arrival == 0) *arrival = ++numbers_;
      sent_[*arrival].record(stream_);
    }
    if (block == nullptr) return nullptr;
    const void* const data = block->data();
    return {std::move(block), data};
  }

  base::Context& context_;
  bool prefetched_;
  cudaStream_t stream_ = nullptr;
  std::map<uint64_t, base::Event> sent_;  // by arrival, what was not awaited yet
  uint64_t numbers_ = 0;
};

}  // namespace

std::unique_ptr<Transport> managed_memory(base::Context& context, bool prefetched) {
  return std::make_unique<ManagedMemory>(context, prefetched);
}

}  // namespace gpujoin::transfer
