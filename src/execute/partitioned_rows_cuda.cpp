#include "src/execute/partitioned_rows.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/execute/moved_rows.hpp"
#include "src/execute/runs_on_device.hpp"
#include "src/keys/number_partitions.hpp"
#include "src/transform/hash_partitions.hpp"

namespace gpujoin::execute {

namespace {

using base::Buffer;
using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;

// Blocks on their way at a time: one in, one out, one that is partitioned, and one that is looked
// at.
constexpr size_t kSlots = 4;
// One thread copies 8 GB/s, the link takes 55; eight of their own for each of several callers take
// the cores from one another.
constexpr int kLeastStagingCallers = 3;
constexpr uint64_t kHeaderBytes = sizeof(kernels::RunHeader);
constexpr auto kWaitStep = std::chrono::milliseconds(5);

// One block on its way.
struct Slot {
  explicit Slot(base::Context& context) : queue(context) {}

  base::LeasedQueue queue;
  Buffer staged;  // page-locked: what is on its way to `in` from pageable memory; or none
  Buffer in;
  Buffer out;
  Buffer numbers;
  Buffer counts;
  base::Event arrived;
  std::shared_ptr<RowBlock> block;  // null: idle
};

class PartitionerOnCuda final : public RowPartitioner {
 public:
  PartitionerOnCuda(std::shared_ptr<base::Context> context, PartitionShape shape)
      : context_(std::move(context)), shape_(std::move(shape)) {
    uint64_t row = 0;
    for (ColumnView const& column : shape_.columns) row += width_in_runs(column);
    uint64_t const bytes = std::min(shape_.block_bytes, shape_.device_bytes / (2 * kSlots));
    constexpr uint64_t kTile = kernels::kHashTile;
    uint64_t const tiles = std::max<uint64_t>(bytes / row / kTile, 1);
    block_rows_ = static_cast<int64_t>(tiles * kTile);
  }

  bool takes(const Relation& rows) const override {
    if (rows.selection != nullptr) return false;
    size_t const given = rows.columns.size();
    bool const has_numbers = given == shape_.columns.size();
    if (!has_numbers && !(shape_.has_row_numbers && given + 1 == shape_.columns.size())) {
      return false;
    }
    for (size_t i = 0; i < given; ++i) {
      if (rows.columns[i].layout != shape_.columns[i].layout) return false;
    }
    return true;
  }

  int64_t partition(const Relation& rows, std::optional<int64_t> first_number,
                    const base::CallEnd& end, const TakeBlock& take) override {
    Flights flights{*this, take, {}};
    Caller const caller(callers_);
    int64_t taken = 0;
    while (taken < rows.rows) {
      end.check();
      int64_t const count = std::min(block_rows_, rows.rows - taken);
      MovedRows const moving(shape_, rows, taken, count, first_number, places(count));
      Buffer staged = stage(moving);
      Slot* const slot = free_slot(flights, end);
      if (slot == nullptr) break;
      if (!start(*slot, moving, std::move(staged), rows, count)) {
        give_back(*slot);
        break;
      }
      flights.slots.push_back(slot);
      taken += count;
    }
    flights.land_all();
    return taken;
  }

  void rest() override {
    std::lock_guard const lock(mutex_);
    idle_.clear();
    slots_.clear();
  }

  std::shared_ptr<const RowBlock> in_host(base::Queue& queue,
                                          const RowBlock& block) const override {
    auto made = std::make_shared<RowBlock>();
    made->memory =
        context_->pinned_pool->allocate(Memory::kPinned, block.memory.bytes(), "a block of rows");
    base::copy(queue, made->memory.data(), Memory::kPinned, block.memory.data(), Memory::kDevice,
               block.memory.bytes());
    base::finish(queue);
    made->runs = made->memory.as<uint8_t>() + kRunsAt;
    made->row_bytes = block.row_bytes;
    made->values = block.values;
    made->valid = block.valid;
    return made;
  }

  Rows bring(base::Queue& queue, std::span<const RowRun> runs) const override {
    return bring_runs(queue, context_, shape_.columns, runs);
  }

 private:
  struct Caller {
    explicit Caller(std::atomic<int>& counted) : count(counted) { ++count; }
    ~Caller() { --count; }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    std::atomic<int>& count;
  };

  // Of one call.
  struct Flights {
    PartitionerOnCuda& of;
    const TakeBlock& take;
    std::deque<Slot*> slots;

    ~Flights() {
      for (Slot* const slot : slots) {
        (void)slot->arrived.try_wait();
        slot->block = nullptr;
        slot->staged = Buffer();
        of.give_back(*slot);
      }
    }
    void land() {
      Slot& slot = *slots.front();
      base::check(slot.arrived.try_wait(), "partitioning rows");
      auto block = std::move(slot.block);
      slot.staged = Buffer();
      slots.pop_front();
      of.give_back(slot);
      take(std::move(block));
    }
    void land_all() {
      while (!slots.empty()) land();
    }
  };

  void give_back(Slot& slot) {
    std::lock_guard const lock(mutex_);
    idle_.push_back(&slot);
    changed_.notify_one();
  }

  // Null: the device has no room for one.
  Slot* free_slot(Flights& flights, const base::CallEnd& end) {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (idle_.empty() && slots_.size() < kSlots) add_slot();
        if (idle_.empty() && flights.slots.empty()) {
          if (slots_.empty()) return nullptr;
          changed_.wait_for(lock, kWaitStep);
          end.check();
        }
        if (!idle_.empty()) {
          Slot* const slot = idle_.back();
          idle_.pop_back();
          return slot;
        }
      }
      if (!flights.slots.empty()) flights.land();
    }
  }

  // Where there is room. expected: mutex_ is held.
  void add_slot() {
    auto slot = std::make_unique<Slot>(*context_);
    base::Pool& pool = *slot->queue->device_pool;
    uint64_t const runs = shape_.hash.partitions + uint64_t{1};
    uint64_t const tiles = static_cast<uint64_t>(block_rows_) / kernels::kHashTile;
    slot->numbers = pool.try_allocate(Memory::kDevice, static_cast<uint64_t>(block_rows_));
    slot->counts = pool.try_allocate(Memory::kDevice, runs * tiles * sizeof(uint32_t));
    bool const has_room = ensure(pool, slot->in, Memory::kDevice, bytes_of(block_rows_, false)) &&
                          ensure(pool, slot->out, Memory::kDevice, bytes_of(block_rows_, true));
    if (!has_room || !slot->numbers || !slot->counts) return;
    idle_.push_back(slot.get());
    slots_.push_back(std::move(slot));
  }

  // False: there is no room.
  static bool ensure(base::Pool& pool, Buffer& buffer, Memory memory, uint64_t bytes) {
    if (buffer.bytes() >= bytes) return true;
    buffer = Buffer();
    buffer = pool.try_allocate(memory, bytes);
    return static_cast<bool>(buffer);
  }

  uint64_t places(int64_t rows) const {
    return kernels::run_places(static_cast<uint64_t>(rows), shape_.hash.partitions + 1);
  }
  // Of columns without NULLs, as they come or as runs.
  uint64_t bytes_of(int64_t rows, bool as_runs) const {
    uint64_t bytes = as_runs ? kRunsAt : 0;
    uint64_t const count = as_runs ? places(rows) : static_cast<uint64_t>(rows);
    for (ColumnView const& column : shape_.columns)
      bytes += aligned_column(count * width_in_runs(column));
    return bytes;
  }

  // What comes from pageable memory, a caller brings to page-locked memory by itself where several
  // do, before it takes a slot; else, and where there is none, threads of the copy's own do that.
  Buffer stage(const MovedRows& moving) {
    auto const& given = moving.given();
    bool const is_pageable = std::any_of(
        given.begin(), given.end(), [](auto const& one) { return one.memory == Memory::kHost; });
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

  static void bring_in(Slot& slot, const MovedRows& moving) {
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

  // Whether it stays there, as the first ones do: what does not go to the host does not come back.
  bool keep_on_device(base::Queue& queue, uint64_t bytes, RowBlock* block) {
    if (resident_bytes_.fetch_add(bytes) + bytes <= shape_.resident_bytes) {
      block->header_copy = context_->pinned_pool->try_allocate(Memory::kPinned, kHeaderBytes);
      block->memory = queue.device_pool->try_allocate(Memory::kDevice, bytes);
      if (block->header_copy && block->memory) return true;
    }
    resident_bytes_ -= bytes;
    *block = RowBlock();
    return false;
  }

  // False: there is no memory for it.
  bool start(Slot& slot, const MovedRows& moving, Buffer staged, const Relation& rows,
             int64_t count) {
    base::Queue& queue = *slot.queue;
    if (!ensure(*queue.device_pool, slot.in, Memory::kDevice, moving.in_bytes()) ||
        !ensure(*queue.device_pool, slot.out, Memory::kDevice, moving.out_bytes())) {
      return false;
    }
    auto block = std::make_shared<RowBlock>();
    bool const stays = keep_on_device(queue, moving.out_bytes(), block.get());
    if (!stays) {
      block->memory = context_->pinned_pool->try_allocate(Memory::kPinned, moving.out_bytes());
    }
    if (!block->memory) return false;
    auto* const out = (stays ? block->memory : slot.out).as<std::byte>();
    slot.staged = std::move(staged);
    auto const hash = moving.hash(shape_, slot.in.as<std::byte>());
    auto const columns = moving.columns(slot.in.as<std::byte>());
    moving.name_runs(block.get());
    try {
      if (rows.ready_event != nullptr) base::await(queue, rows.ready_event);
      bring_in(slot, moving);
      auto const row_count = static_cast<uint32_t>(count);
      keys::number_partitions(queue, hash, row_count, slot.numbers.as<uint8_t>(),
                              slot.counts.as<uint32_t>());
      transform::move_to_runs(queue, slot.numbers.as<uint8_t>(), slot.counts.as<uint32_t>(),
                              row_count, hash.partitions + 1, columns, moving.row_bytes(),
                              reinterpret_cast<kernels::RunHeader*>(out), out + kRunsAt);
      auto* const target = (stays ? block->header_copy : block->memory).data();
      base::copy(queue, target, Memory::kPinned, out, Memory::kDevice,
                 stays ? kHeaderBytes : moving.out_bytes());
      slot.arrived.record(base::stream_of(queue));
    } catch (...) {
      // What was queued reads memory that is let go of.
      (void)cudaStreamSynchronize(base::stream_of(queue));
      slot.staged = Buffer();
      give_back(slot);
      throw;
    }
    slot.block = std::move(block);
    return true;
  }

  std::shared_ptr<base::Context> context_;
  PartitionShape shape_;
  int64_t block_rows_;

  std::atomic<int> callers_{0};
  std::atomic<uint64_t> resident_bytes_{0};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> idle_;
};

}  // namespace

std::shared_ptr<RowPartitioner> make_row_partitioner(std::shared_ptr<base::Context> context,
                                                     PartitionShape shape) {
  bool const has_streams = context->queues.most == 0;
  bool const are_fixed =
      std::all_of(shape.columns.begin(), shape.columns.end(), [](ColumnView const& column) {
        return column.layout == Layout::kValues || column.layout == Layout::kBits;
      });
  bool const are_numbered = shape.hash.partitions + 1 <= kernels::kMostRuns;
  if (!has_streams || !are_fixed || !are_numbered || shape.keys.empty()) return nullptr;
  return std::make_shared<PartitionerOnCuda>(std::move(context), std::move(shape));
}

}  // namespace gpujoin::execute
