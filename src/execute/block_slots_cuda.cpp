#include "src/execute/block_slots.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "src/base/copy.hpp"
#include "src/keys/number_partitions.hpp"
#include "src/transform/hash_partitions.hpp"

namespace gpujoin::execute {

namespace {

using base::Buffer;
using base::Memory;
using columns::ColumnView;
using columns::Relation;

constexpr size_t kSlots = 4;
// One thread copies 8 GB/s, the link takes 55; eight of their own for each of several callers take
// the cores from one another.
constexpr int kLeastStagingCallers = 3;
constexpr auto kWaitStep = std::chrono::milliseconds(5);

// False: there is no room.
bool ensure(base::Pool& pool, Buffer& buffer, Memory memory, uint64_t bytes) {
  if (buffer.bytes() >= bytes) return true;
  buffer = Buffer();
  buffer = pool.try_allocate(memory, bytes);
  return static_cast<bool>(buffer);
}

void bring_in(BlockSlot& slot, const MovedRows& moving) {
  std::vector<base::Copy> copies;
  for (auto const& one : moving.given()) {
    if (one.memory == Memory::kDevice) continue;
    base::Copy copy{slot.in.as<std::byte>() + one.at, Memory::kDevice, one.data, one.memory,
                    one.bytes};
    if (slot.staged && one.memory == Memory::kHost) {
      copy.source = slot.staged.as<std::byte>() + one.at;
      copy.source_memory = Memory::kPinned;
    }
    copies.push_back(copy);
  }
  base::copy(*slot.queue, copies);
}

}  // namespace

BlockSlots::BlockSlots(std::shared_ptr<base::Context> context, const PartitionShape& shape)
    : context_(std::move(context)), shape_(shape) {
  uint64_t row = 0;
  for (ColumnView const& column : shape_.columns) row += width_in_runs(column);
  uint64_t const bytes = std::min(shape_.block_bytes, shape_.device_bytes / (2 * kSlots));
  constexpr uint64_t kTile = kernels::kHashTile;
  uint64_t const tiles = std::max<uint64_t>(bytes / row / kTile, 1);
  block_rows_ = static_cast<int64_t>(tiles * kTile);
}

MovedRows BlockSlots::moved(const Relation& rows, int64_t first, int64_t count,
                            std::optional<int64_t> first_number) const {
  return {shape_, rows, first, count, first_number, places(count)};
}

uint64_t BlockSlots::places(int64_t rows) const {
  return kernels::run_places(static_cast<uint64_t>(rows), shape_.hash.partitions + 1);
}

BlockSlot* BlockSlots::take(const base::CallEnd& end, const std::function<bool()>& land) {
  for (;;) {
    {
      std::lock_guard const lock(mutex_);
      if (idle_.empty() && slots_.size() < kSlots) add();
      if (!idle_.empty()) {
        BlockSlot* const slot = idle_.back();
        idle_.pop_back();
        return slot;
      }
      if (slots_.empty()) return nullptr;
    }
    if (land()) continue;
    std::unique_lock lock(mutex_);
    if (idle_.empty()) changed_.wait_for(lock, kWaitStep);
    end.check();
  }
}

void BlockSlots::give_back(BlockSlot& slot) {
  std::lock_guard const lock(mutex_);
  idle_.push_back(&slot);
  changed_.notify_one();
}

void BlockSlots::rest() {
  std::lock_guard const lock(mutex_);
  idle_.clear();
  slots_.clear();
}

// Where there is room. expected: mutex_ is held.
void BlockSlots::add() {
  auto slot = std::make_unique<BlockSlot>(*context_);
  base::Pool& pool = *slot->queue->device_pool;
  // Of columns without NULLs, as they come and as runs.
  uint64_t in_bytes = 0;
  uint64_t out_bytes = kRunsAt;
  for (ColumnView const& column : shape_.columns) {
    in_bytes += aligned_column(static_cast<uint64_t>(block_rows_) * width_in_runs(column));
    out_bytes += places(block_rows_) * width_in_runs(column);
  }
  uint64_t const runs = shape_.hash.partitions + uint64_t{1};
  uint64_t const tiles = static_cast<uint64_t>(block_rows_) / kernels::kHashTile;
  slot->numbers = pool.try_allocate(Memory::kDevice, static_cast<uint64_t>(block_rows_));
  slot->counts = pool.try_allocate(Memory::kDevice, runs * tiles * sizeof(uint32_t));
  slot->header = context_->pinned_pool->try_allocate(Memory::kPinned, sizeof(kernels::RunHeader));
  bool const has_blocks = ensure(pool, slot->in, Memory::kDevice, in_bytes) &&
                          ensure(pool, slot->out, Memory::kDevice, out_bytes);
  if (!has_blocks || !slot->numbers || !slot->counts || !slot->header) return;
  idle_.push_back(slot.get());
  slots_.push_back(std::move(slot));
}

Buffer BlockSlots::stage(const MovedRows& moving) const {
  auto const& given = moving.given();
  bool const is_pageable = std::any_of(given.begin(), given.end(),
                                       [](auto const& one) { return one.memory == Memory::kHost; });
  if (!is_pageable || callers_ < kLeastStagingCallers) return {};
  // Of the size of blocks that are kept, so that the pool has one kind of them.
  Buffer staged = context_->pinned_pool->try_allocate(
      Memory::kPinned, std::max(moving.in_bytes(), moving.out_bytes()));
  if (!staged) return {};
  for (auto const& one : given) {
    if (one.memory != Memory::kHost) continue;
    std::memcpy(staged.as<std::byte>() + one.at, one.data, one.bytes);
  }
  return staged;
}

bool BlockSlots::has_room(BlockSlot& slot, const MovedRows& moving) {
  base::Pool& pool = *slot.queue->device_pool;
  return ensure(pool, slot.in, Memory::kDevice, moving.in_bytes()) &&
         ensure(pool, slot.out, Memory::kDevice, moving.out_bytes());
}

void BlockSlots::number(BlockSlot& slot, const MovedRows& moving, const Relation& rows,
                        int64_t count, const kernels::RunMap& map) const {
  base::Queue& queue = *slot.queue;
  if (rows.ready_event != nullptr) base::await(queue, rows.ready_event);
  bring_in(slot, moving);
  keys::number_partitions(queue, moving.hash(shape_, slot.in.as<std::byte>()), map,
                          static_cast<uint32_t>(count), slot.numbers.as<uint8_t>(),
                          slot.counts.as<uint32_t>());
}

void BlockSlots::move(BlockSlot& slot, const MovedRows& moving, int64_t count,
                      const kernels::RunMap& map, std::byte* out) {
  transform::move_to_runs(*slot.queue, slot.numbers.as<uint8_t>(), slot.counts.as<uint32_t>(),
                          static_cast<uint32_t>(count), map.runs,
                          moving.columns(slot.in.as<std::byte>()), moving.row_bytes(),
                          reinterpret_cast<kernels::RunHeader*>(out), out + kRunsAt);
}

kernels::RunMap run_of_each(uint32_t partitions) {
  kernels::RunMap map{};
  map.runs = partitions + 1;
  for (uint32_t p = 0; p <= partitions; ++p) map.of[p] = static_cast<uint8_t>(p);
  return map;
}

kernels::RunMap staying_first(const std::vector<bool>& stays) {
  kernels::RunMap map{};
  map.runs = 1;
  for (size_t p = 0; p < stays.size(); ++p) {
    map.of[p] = stays[p] ? uint8_t{0} : static_cast<uint8_t>(map.runs++);
  }
  map.of[stays.size()] = static_cast<uint8_t>(map.runs++);
  return map;
}

}  // namespace gpujoin::execute
