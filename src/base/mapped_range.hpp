// mapped_range.hpp: device memory that grows in place: a reserved address range, and pages mapped
// to its front on demand.
//
// Mapping 1 GiB more costs 0.12 ms on an H200 and moves nothing, where a larger allocation would
// copy what is there. Ranges that nobody uses are parked with their pages for the next join;
// trimming the pool unmaps them.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/device.hpp"

namespace gpujoin::base {

class MappedRange {
 public:
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  void* data() const;
  uint64_t mapped_bytes() const { return mapped_; }
  // Maps pages until `bytes` are there. False when the limit, the device or the address range has
  // no more; then nothing changed.
  bool try_grow(uint64_t bytes);
  // Takes back the newest pages until no more than `bytes`, rounded up to mappings, are there.
  // Nothing queued may use them.
  void shrink(uint64_t bytes);

 private:
  friend std::shared_ptr<MappedRange> take_range(Queue& queue, uint64_t bytes);
  MappedRange(const Queue& queue, uint64_t reserved_bytes);
  // Another queue's from here on, which waits for what the last owner had queued.
  void hand_over(const Queue& queue);
  // Throws nothing: a failure is a lost device, which the next checked call reports.
  void park() noexcept;
  void wait_until_unused() noexcept;

  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Stream>
      stream_;  // pages may be in use by its queued work until it has been waited for
  DriverFunctions driver_;
  uint64_t page_ = 0;
  CUdeviceptr base_ = 0;
  uint64_t reserved_ = 0;
  uint64_t mapped_ = 0;
  bool parked_ = false;             // which account its bytes are on
  Event released_{false};           // the last owner's queue was there when it was parked
  std::vector<uint64_t> mappings_;  // sizes, in address order
};

// Ranges waiting for the next join.
struct RangePark {
  using Ranges = std::list<std::unique_ptr<MappedRange>>;
  std::mutex mutex;
  Ranges ranges;
  Ranges room;  // an empty place for each range that is lent: parking it must not allocate
};

// Unmaps every parked range.
void unmap_parked(RangePark& park);

// A parked range that suits, or a new one; parked again when the last owner lets go. Not yet grown.
std::shared_ptr<MappedRange> take_range(Queue& queue, uint64_t bytes);

}  // namespace gpujoin::base
