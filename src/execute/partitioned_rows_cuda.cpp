#include "src/execute/partitioned_rows.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/execute/block_slots.hpp"
#include "src/execute/moved_rows.hpp"
#include "src/execute/runs_on_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Buffer;
using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;

constexpr uint64_t kHeaderBytes = sizeof(kernels::RunHeader);

class PartitionerOnCuda final : public RowPartitioner {
 public:
  PartitionerOnCuda(std::shared_ptr<base::Context> context, PartitionShape shape)
      : context_(std::move(context)), shape_(std::move(shape)), slots_(context_, shape_) {}

  int64_t block_rows() const override { return slots_.block_rows(); }

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
    Flights flights{slots_, take, {}};
    BlockSlots::Caller const caller(slots_);
    int64_t taken = 0;
    while (taken < rows.rows) {
      end.check();
      int64_t const count = std::min(slots_.block_rows(), rows.rows - taken);
      MovedRows const moving = slots_.moved(rows, taken, count, first_number);
      Buffer staged = slots_.stage(moving);
      BlockSlot* const slot = slots_.take(end, [&] { return flights.land(); });
      if (slot == nullptr) break;
      flights.slots.push_back(slot);
      if (!start(*slot, moving, std::move(staged), rows, count)) break;
      taken += count;
    }
    while (flights.land()) continue;
    return taken;
  }

  std::vector<int64_t> count(const Relation& rows, const base::CallEnd& end) override {
    return count_rows(slots_, shape_, rows, end);
  }

  std::optional<SplitRows> split(const Relation& rows, const std::vector<bool>& stays,
                                 const base::CallEnd& end) override {
    return split_rows(slots_, context_, shape_, rows, stays, end);
  }

  void rest() override { slots_.rest(); }

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
  // Of one call.
  struct Flights {
    BlockSlots& of;
    const TakeBlock& take;
    std::deque<BlockSlot*> slots;

    // What was queued reads and writes memory that is let go of.
    ~Flights() {
      for (BlockSlot* const slot : slots) {
        (void)cudaStreamSynchronize(base::stream_of(*slot->queue));
        slot->block = nullptr;
        slot->staged = Buffer();
        of.give_back(*slot);
      }
    }
    // The first one; false: there is none.
    bool land() {
      if (slots.empty()) return false;
      BlockSlot& slot = *slots.front();
      if (slot.block != nullptr) base::check(slot.arrived.try_wait(), "partitioning rows");
      auto block = std::move(slot.block);
      slot.staged = Buffer();
      slots.pop_front();
      of.give_back(slot);
      if (block != nullptr) take(std::move(block));
      return true;
    }
  };

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
  bool start(BlockSlot& slot, const MovedRows& moving, Buffer staged, const Relation& rows,
             int64_t count) {
    if (!BlockSlots::has_room(slot, moving)) return false;
    base::Queue& queue = *slot.queue;
    auto block = std::make_shared<RowBlock>();
    bool const stays = keep_on_device(queue, moving.out_bytes(), block.get());
    if (!stays) {
      block->memory = context_->pinned_pool->try_allocate(Memory::kPinned, moving.out_bytes());
    }
    if (!block->memory) return false;
    auto* const out = (stays ? block->memory : slot.out).as<std::byte>();
    slot.staged = std::move(staged);
    moving.name_runs(block.get());
    kernels::RunMap const map = run_of_each(shape_.hash.partitions);
    slot.block = std::move(block);
    slots_.number(slot, moving, rows, count, map);
    BlockSlots::move(slot, moving, count, map, out);
    auto* const target = (stays ? slot.block->header_copy : slot.block->memory).data();
    base::copy(queue, target, Memory::kPinned, out, Memory::kDevice,
               stays ? kHeaderBytes : moving.out_bytes());
    slot.arrived.record(base::stream_of(queue));
    return true;
  }

  std::shared_ptr<base::Context> context_;
  PartitionShape shape_;
  BlockSlots slots_;
  std::atomic<uint64_t> resident_bytes_{0};
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
