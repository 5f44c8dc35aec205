#include <algorithm>

#include "src/base/mapped_range.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

CUmemAllocationProp page_property(int device_id) {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  property.location.id = device_id;
  return property;
}

}  // namespace

MappedRange::MappedRange(const Queue& queue, uint64_t reserved_bytes)
    : pool_(queue.device_pool),
      stream_(queue.device->stream),
      driver_(queue.context.device->driver),
      page_(queue.context.device->page_bytes),
      reserved_(reserved_bytes) {
  check(driver_.mem_address_reserve(&base_, reserved_, 0, 0, 0), "reserving an address range");
}

MappedRange::~MappedRange() {
  // Kernels that use these pages may still be queued.
  if (mapped_ != 0) wait_until_unused();
  shrink(0);
  if (base_ != 0) driver_.mem_address_free(base_, reserved_);
  cudaGetLastError();
}

void MappedRange::shrink(uint64_t bytes) {
  while (!mappings_.empty() && mapped_ - mappings_.back() >= bytes) {
    uint64_t const newest = mappings_.back();
    mappings_.pop_back();
    mapped_ -= newest;
    driver_.mem_unmap(base_ + mapped_, newest);
    if (parked_) {
      pool_->drop_parked(newest);
    } else {
      pool_->unreserve(newest);
    }
  }
}

void MappedRange::hand_over(const Queue& queue) {
  if (stream_ != queue.device->stream) released_.hold(queue.device->stream->handle);
  stream_ = queue.device->stream;
  pool_ = queue.device_pool;
  pool_->unpark(mapped_);
  parked_ = false;
}

void MappedRange::park() noexcept {
  released_.try_record(stream_->handle);
  cudaGetLastError();
  pool_->park(mapped_);
  parked_ = true;
}

// Of a parked range no more than its last owner's work: another call may have the stream by now.
void MappedRange::wait_until_unused() noexcept {
  if (parked_) {
    released_.try_wait();
  } else {
    cudaStreamSynchronize(stream_->handle);
  }
  cudaGetLastError();
}

void* MappedRange::data() const { return reinterpret_cast<void*>(base_); }

bool MappedRange::try_grow(uint64_t bytes) {
  if (bytes <= mapped_) return true;
  uint64_t const more = (bytes - mapped_ + page_ - 1) / page_ * page_;
  if (mapped_ + more > reserved_) return false;
  // Once pages are mapped, nothing may fail: doubled, because reserve gives no more than asked for.
  if (mappings_.size() == mappings_.capacity()) mappings_.reserve(2 * mappings_.size() + 1);
  if (!pool_->try_reserve(more)) return false;
  CUmemAllocationProp const property = page_property(stream_->device_id);
  CUmemGenericAllocationHandle pages{};
  CUresult code = driver_.mem_create(&pages, more, &property, 0);
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    pool_->account().trim();
    code = driver_.mem_create(&pages, more, &property, 0);
  }
  if (code != CUDA_SUCCESS) {
    pool_->unreserve(more);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) return false;
    check(code, "creating pages of device memory");
  }
  CUresult const mapped = driver_.mem_map(base_ + mapped_, more, 0, pages, 0);
  // The mapping keeps the pages; the handle is not needed beyond it.
  driver_.mem_release(pages);
  if (mapped != CUDA_SUCCESS) {
    pool_->unreserve(more);
    check(mapped, "mapping pages of device memory");
  }
  CUmemAccessDesc access{};
  access.location = property.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUresult const accessible = driver_.mem_set_access(base_ + mapped_, more, &access, 1);
  if (accessible != CUDA_SUCCESS) {
    driver_.mem_unmap(base_ + mapped_, more);
    pool_->unreserve(more);
    check(accessible, "allowing access to pages of device memory");
  }
  mappings_.push_back(more);
  mapped_ += more;
  return true;
}

void unmap_parked(RangePark& park) {
  RangePark::Ranges ranges;
  {
    std::lock_guard const lock(park.mutex);
    ranges.swap(park.ranges);
  }
}

std::shared_ptr<MappedRange> take_range(Queue& queue, uint64_t bytes) {
  Device& device = *queue.context.device;
  std::shared_ptr<RangePark> const park = device.park;
  std::unique_ptr<MappedRange> range;
  {
    auto const account = queue.context.device_account->lock();
    std::lock_guard const lock(park->mutex);
    // The smallest that is large enough, but not one so large that a small result would hold it;
    // else the largest smaller one.
    constexpr uint64_t kSmall = uint64_t{64} << 20;
    auto best = park->ranges.end();
    for (auto at = park->ranges.begin(); at != park->ranges.end(); ++at) {
      uint64_t const mapped = (*at)->mapped_bytes();
      if (mapped > std::max(4 * bytes, kSmall)) continue;
      if (best == park->ranges.end()) {
        best = at;
        continue;
      }
      uint64_t const current = (*best)->mapped_bytes();
      bool const better = current < bytes ? mapped > current : mapped >= bytes && mapped < current;
      if (better) best = at;
    }
    if (best != park->ranges.end()) {
      (*best)->hand_over(queue);
      range = std::move(*best);
      park->room.splice(park->room.end(), park->ranges, best);
    }
  }
  if (range == nullptr) {
    // Address space costs nothing: as much as the device could ever fill.
    uint64_t const page = device.page_bytes;
    uint64_t const reserved = (queue.context.facts.memory_bytes + page - 1) / page * page;
    range.reset(new MappedRange(queue, reserved));
    std::lock_guard const lock(park->mutex);
    park->room.emplace_back();
  }
  return {range.release(), [park](MappedRange* returned) {
            std::unique_ptr<MappedRange> owned(returned);
            auto const account = owned->pool_->account().lock();
            owned->park();
            std::lock_guard const lock(park->mutex);
            park->room.front() = std::move(owned);
            park->ranges.splice(park->ranges.end(), park->room, park->room.begin());
          }};
}

}  // namespace gpujoin::base
