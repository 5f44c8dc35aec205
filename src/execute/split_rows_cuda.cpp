// split_rows_cuda.cpp: a block of which some partitions stay on the device, and what a block has of
// each.
#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/copy.hpp"
#include "src/execute/block_slots.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/runs_on_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Buffer;
using base::Memory;
using columns::Relation;
using kernels::RunHeader;

// A slot for as long as this lives. What was queued is waited for in the end, whatever happens.
class TakenSlot {
 public:
  TakenSlot(BlockSlots& slots, const base::CallEnd& end)
      : slots_(slots), slot_(slots.take(end, [] { return false; })) {}
  ~TakenSlot() {
    if (slot_ == nullptr) return;
    (void)cudaStreamSynchronize(base::stream_of(*slot_->queue));
    slot_->staged = Buffer();
    slots_.give_back(*slot_);
  }
  TakenSlot(const TakenSlot&) = delete;
  TakenSlot& operator=(const TakenSlot&) = delete;

  explicit operator bool() const { return slot_ != nullptr; }
  BlockSlot& operator*() const { return *slot_; }
  BlockSlot* operator->() const { return slot_; }

 private:
  BlockSlots& slots_;
  BlockSlot* slot_;
};

// Rows in the order of their runs, at the slot's `out`; says what those are.
const RunHeader& order_rows(BlockSlots& slots, BlockSlot& slot, const MovedRows& moving,
                            const Relation& rows, const kernels::RunMap& map) {
  slots.number(slot, moving, rows, rows.rows, map);
  BlockSlots::move(slot, moving, rows.rows, map, slot.out.as<std::byte>());
  base::copy(*slot.queue, slot.header.data(), Memory::kPinned, slot.out.data(), Memory::kDevice,
             sizeof(RunHeader));
  base::finish(*slot.queue);
  return *slot.header.as<RunHeader>();
}

// The first run in columns. Queued.
std::shared_ptr<const Relation> first_run(BlockSlot& slot,
                                          const std::shared_ptr<base::Context>& context,
                                          const PartitionShape& shape, const MovedRows& moving) {
  auto block = std::make_shared<RowBlock>();
  block->memory = std::move(slot.out);
  block->header_copy = std::move(slot.header);
  moving.name_runs(block.get());
  auto const give_back = [&] {
    slot.out = std::move(block->memory);
    slot.header = std::move(block->header_copy);
  };
  RowRun const run{block, 0};
  try {
    auto rows = bring_runs(*slot.queue, context, shape.columns, std::span(&run, 1));
    give_back();
    return rows;
  } catch (...) {
    give_back();
    throw;
  }
}

// All runs but the first one, as a block of the partitions. Queued. Null: page-locked memory has no
// room.
std::shared_ptr<const RowBlock> other_runs(BlockSlot& slot, base::Pool& pinned,
                                           const MovedRows& moving, const RunHeader& header,
                                           const kernels::RunMap& map, size_t partitions) {
  uint32_t const first = header.begin[1];
  uint32_t const last = map.runs - 1;
  uint64_t const bytes = (header.begin[last] + kernels::places_of_run(header.count[last]) - first) *
                         moving.row_bytes();
  // Sizes differ a little from block to block, and those that are kept for others are to suit them.
  uint64_t const step = moving.out_bytes() / 16 + 1;
  auto block = std::make_shared<RowBlock>();
  block->memory = pinned.try_allocate(Memory::kPinned, (kRunsAt + bytes + step - 1) / step * step);
  if (!block->memory) return nullptr;
  moving.name_runs(block.get());
  base::copy(*slot.queue, block->memory.as<std::byte>() + kRunsAt, Memory::kPinned,
             slot.out.as<std::byte>() + kRunsAt + first * moving.row_bytes(), Memory::kDevice,
             bytes);
  auto* const of_partitions = block->memory.as<RunHeader>();
  for (size_t p = 0; p < partitions; ++p) {
    uint32_t const run = map.of[p];
    of_partitions->begin[p] = run == 0 ? 0 : header.begin[run] - first;
    of_partitions->count[p] = run == 0 ? 0 : header.count[run];
  }
  return block;
}

}  // namespace

std::vector<int64_t> count_rows(BlockSlots& slots, const PartitionShape& shape,
                                const Relation& rows, const base::CallEnd& end) {
  BlockSlots::Caller const caller(slots);
  MovedRows const moving = slots.moved(rows, 0, rows.rows, std::nullopt);
  Buffer staged = slots.stage(moving);
  TakenSlot const slot(slots, end);
  if (!slot || !BlockSlots::has_room(*slot, moving)) return {};
  slot->staged = std::move(staged);
  kernels::RunMap const map = run_of_each(shape.hash.partitions);
  RunHeader const& header = order_rows(slots, *slot, moving, rows, map);
  return {header.count, header.count + map.runs};
}

std::optional<SplitRows> split_rows(BlockSlots& slots,
                                    const std::shared_ptr<base::Context>& context,
                                    const PartitionShape& shape, const Relation& rows,
                                    const std::vector<bool>& stays, const base::CallEnd& end) {
  BlockSlots::Caller const caller(slots);
  MovedRows const moving = slots.moved(rows, 0, rows.rows, std::nullopt);
  Buffer staged = slots.stage(moving);
  SplitRows made;
  TakenSlot const slot(slots, end);
  if (!slot || !BlockSlots::has_room(*slot, moving)) return std::nullopt;
  slot->staged = std::move(staged);
  kernels::RunMap const map = staying_first(stays);
  RunHeader const header = order_rows(slots, *slot, moving, rows, map);
  if (static_cast<int64_t>(header.count[0]) != rows.rows) {
    made.others = other_runs(*slot, *context->pinned_pool, moving, header, map, stays.size() + 1);
    if (made.others == nullptr) return std::nullopt;
  }
  try {
    if (header.count[0] != 0) made.staying = first_run(*slot, context, shape, moving);
  } catch (const base::Error& error) {
    if (!is_no_room(error)) throw;
    base::finish(*slot->queue);  // the block's memory is let go of
    return std::nullopt;
  }
  base::finish(*slot->queue);
  return made;
}

}  // namespace gpujoin::execute
