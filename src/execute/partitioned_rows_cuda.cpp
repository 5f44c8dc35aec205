#include "src/execute/partitioned_rows.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/status.hpp"
#include "src/columns/result.hpp"
#include "src/keys/number_partitions.hpp"
#include "src/transfer/transfer.hpp"
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
// Columns of a block and pieces of it begin there.
constexpr uint64_t kAlign = 256;
constexpr auto kWaitStep = std::chrono::milliseconds(5);

uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Of a row in a block, of bits a byte.
uint64_t width_of(const ColumnView& column) {
  return column.layout == Layout::kBits ? 1 : static_cast<uint64_t>(column.width);
}

// The bits of a column's rows, as its validity is.
ColumnView bits_as_validity(const ColumnView& column) {
  ColumnView bits = column;
  bits.validity = static_cast<const uint8_t*>(column.data);
  bits.validity_bit_offset = column.parts->first_bit;
  return bits;
}

// One block on its way.
struct Slot {
  explicit Slot(base::Context& context) : queue(context) {}

  base::LeasedQueue queue;
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
    for (ColumnView const& column : shape_.columns) row += width_of(column) + 1;
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

  int64_t partition(std::span<const Rows> relations, std::optional<int64_t> first_number,
                    const base::CallEnd& end, const TakeBlock& take) override {
    Flights flights{*this, take, {}};
    int64_t taken = 0;
    for (Rows const& rows : relations) {
      for (int64_t first = 0; first < rows->rows; first += block_rows_) {
        end.check();
        Slot* const slot = free_slot(flights, end);
        int64_t const count = std::min(block_rows_, rows->rows - first);
        if (slot == nullptr || !start(*slot, *rows, first, count, first_number)) {
          if (slot != nullptr) give_back(*slot);
          flights.land_all();
          return taken;
        }
        flights.slots.push_back(slot);
        taken += count;
      }
    }
    flights.land_all();
    return taken;
  }

  void rest() override {
    std::lock_guard const lock(mutex_);
    idle_.clear();
    slots_.clear();
  }

  Rows bring(base::Queue& queue, std::span<const RowRun> runs) const override;

 private:
  // Of one call.
  struct Flights {
    PartitionerOnCuda& of;
    const TakeBlock& take;
    std::deque<Slot*> slots;

    ~Flights() {
      for (Slot* const slot : slots) {
        (void)slot->arrived.try_wait();
        slot->block = nullptr;
        of.give_back(*slot);
      }
    }
    void land() {
      Slot& slot = *slots.front();
      base::check(slot.arrived.try_wait(), "partitioning rows");
      auto block = std::move(slot.block);
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
    slot->in = pool.try_allocate(Memory::kDevice, bytes_in(block_rows_));
    slot->out = pool.try_allocate(Memory::kDevice, bytes_out(block_rows_));
    slot->numbers = pool.try_allocate(Memory::kDevice, static_cast<uint64_t>(block_rows_));
    slot->counts = pool.try_allocate(Memory::kDevice, runs * tiles * sizeof(uint32_t));
    if (!slot->in || !slot->out || !slot->numbers || !slot->counts) return;
    idle_.push_back(slot.get());
    slots_.push_back(std::move(slot));
  }

  // At most, whatever lies where.
  uint64_t bytes_in(int64_t rows) const {
    auto const count = static_cast<uint64_t>(rows);
    uint64_t bytes = 0;
    for (ColumnView const& column : shape_.columns) {
      bool const is_bits = column.layout == Layout::kBits;
      bytes += aligned(is_bits ? count / 8 + 2 : count * width_of(column));
      bytes += aligned(count / 8 + 2);
    }
    return bytes;
  }
  uint64_t places(int64_t rows) const {
    return kernels::run_places(static_cast<uint64_t>(rows), shape_.hash.partitions + 1);
  }
  uint64_t bytes_out(int64_t rows) const {
    uint64_t bytes = aligned(sizeof(kernels::RunHeader));
    for (ColumnView const& column : shape_.columns) {
      bytes += aligned(places(rows) * width_of(column)) + aligned(places(rows));
    }
    return bytes;
  }

  // What a block is made of: filled as columns are looked at.
  struct Making {
    Slot& slot;
    uint64_t places;
    uint64_t in = 0;  // bytes used
    uint64_t out = aligned(sizeof(kernels::RunHeader));
    std::vector<base::Copy> copies;
    std::vector<kernels::RunColumn> moved;

    // Where the device reads the bytes.
    const void* brought(const void* data, Memory memory, uint64_t bytes) {
      if (memory == Memory::kDevice) return data;
      void* const target = slot.in.as<std::byte>() + std::exchange(in, in + aligned(bytes));
      copies.push_back({target, Memory::kDevice, data, memory, bytes});
      return target;
    }
    kernels::ValidityBits brought_bits(const ColumnView& column, int64_t first, int64_t rows) {
      auto const bits = transfer::validity_bytes(column, first, rows);
      return {static_cast<const uint8_t*>(brought(bits.first, column.memory, bits.bytes)),
              bits.bit_offset};
    }
    // Answers how far behind the block's beginning they lie.
    uint64_t move(kernels::RunColumn column) {
      uint64_t const at = out;
      column.out = slot.out.as<std::byte>() + at;
      out += aligned(places * static_cast<uint64_t>(column.width));
      moved.push_back(column);
      return at;
    }
  };

  // False: there is no page-locked memory for it.
  bool start(Slot& slot, const Relation& rows, int64_t first, int64_t count,
             std::optional<int64_t> first_number) {
    base::Queue& queue = *slot.queue;
    Making making{slot, places(count), 0, aligned(sizeof(kernels::RunHeader)), {}, {}};
    std::vector<uint64_t> values;
    std::vector<uint64_t> valid;  // 0: none
    std::vector<kernels::ValidityBits> validity(shape_.columns.size());
    std::vector<const void*> data(shape_.columns.size());
    for (size_t i = 0; i < shape_.columns.size(); ++i) {
      kernels::RunColumn moved;
      moved.width = static_cast<int32_t>(width_of(shape_.columns[i]));
      if (i >= rows.columns.size()) {
        moved.first_number = first_number.value_or(0) + first;
      } else if (ColumnView const& column = rows.columns[i]; column.layout == Layout::kBits) {
        moved.bits = making.brought_bits(bits_as_validity(column), first, count);
      } else {
        auto const width = static_cast<uint64_t>(column.width);
        auto const* const begin =
            static_cast<const std::byte*>(column.data) + static_cast<uint64_t>(first) * width;
        data[i] = moved.in =
            making.brought(begin, column.memory, static_cast<uint64_t>(count) * width);
      }
      values.push_back(making.move(moved));
      valid.push_back(0);
      if (i >= rows.columns.size() || rows.columns[i].validity == nullptr) continue;
      validity[i] = making.brought_bits(rows.columns[i], first, count);
      kernels::RunColumn of_validity;
      of_validity.width = 1;
      of_validity.bits = validity[i];
      valid.back() = making.move(of_validity);
    }
    auto block = std::make_shared<RowBlock>();
    block->memory = context_->pinned_pool->try_allocate(Memory::kPinned, making.out);
    if (!block->memory) return false;
    auto const* const base = block->memory.as<uint8_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      block->values.push_back(base + values[i]);
      block->valid.push_back(valid[i] == 0 ? nullptr : base + valid[i]);
    }
    kernels::PartitionHash hash = shape_.hash;
    for (size_t k = 0; k < shape_.keys.size(); ++k) {
      auto const key = static_cast<size_t>(shape_.keys[k]);
      hash.columns[k].value.source = data[key];
      hash.columns[k].validity = validity[key];
    }
    // What fails behind this has to be waited for.
    slot.block = std::move(block);
    try {
      if (rows.ready_event != nullptr) base::await(queue, rows.ready_event);
      base::copy(queue, making.copies);
      auto const row_count = static_cast<uint32_t>(count);
      keys::number_partitions(queue, hash, row_count, slot.numbers.as<uint8_t>(),
                              slot.counts.as<uint32_t>());
      transform::move_to_runs(queue, slot.numbers.as<uint8_t>(), slot.counts.as<uint32_t>(),
                              row_count, hash.partitions + 1, making.moved,
                              slot.out.as<kernels::RunHeader>());
      base::copy(queue, slot.block->memory.data(), Memory::kPinned, slot.out.data(),
                 Memory::kDevice, making.out);
      slot.arrived.record(base::stream_of(queue));
    } catch (...) {
      (void)cudaStreamSynchronize(base::stream_of(queue));
      slot.block = nullptr;
      give_back(slot);
      throw;
    }
    return true;
  }

  std::shared_ptr<base::Context> context_;
  PartitionShape shape_;
  int64_t block_rows_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> idle_;
};

// What a relation that was brought lives on.
struct Brought {
  std::vector<Buffer> buffers;
  std::vector<RowRun> runs;
};

// Parts of the runs of one column, of kPieceRows rows at most.
template <typename Source>
void add_pieces(std::span<const RowRun> runs, uint64_t width, const Source& source,
                kernels::RunPiece* pieces) {
  uint64_t target = 0;
  for (RowRun const& run : runs) {
    uint8_t const* const begin = source(*run.block);
    uint32_t const rows = run.rows();
    for (uint32_t first = 0; first < rows; first += kernels::kPieceRows) {
      pieces->source = begin == nullptr ? nullptr : begin + (run.begin() + first) * width;
      pieces->rows = std::min(kernels::kPieceRows, rows - first);
      pieces->target_row = target + first;
      ++pieces;
    }
    target += rows;
  }
}

RowPartitioner::Rows PartitionerOnCuda::bring(base::Queue& queue,
                                              std::span<const RowRun> runs) const {
  uint64_t rows = 0;
  uint32_t pieces = 0;
  for (RowRun const& run : runs) {
    rows += run.rows();
    pieces += (run.rows() + kernels::kPieceRows - 1) / kernels::kPieceRows;
  }
  auto made = std::make_shared<Relation>();
  auto brought = std::make_shared<Brought>();
  made->context = context_;
  made->rows = static_cast<int64_t>(rows);
  brought->runs.assign(runs.begin(), runs.end());
  base::Pool& pool = *queue.device_pool;
  auto const allocate = [&](uint64_t bytes) {
    brought->buffers.push_back(pool.allocate(Memory::kDevice, bytes, "rows of a partition"));
    return brought->buffers.back().data();
  };
  // Of each column, and of its validity.
  Buffer const tables = pool.allocate_rows<kernels::RunPiece>(
      Memory::kPinned, 2 * shape_.columns.size() * uint64_t{pieces}, "runs of a partition");
  auto* table = tables.as<kernels::RunPiece>();
  auto const gather = [&](uint64_t width, const auto& source, void* target) {
    add_pieces(runs, width, source, table);
    transform::gather_runs(queue, table, pieces, static_cast<int32_t>(width), target);
    table += pieces;
  };
  auto const gather_bits = [&](const auto& source) {
    Buffer const bytes = pool.allocate(Memory::kDevice, rows, "truth values of a partition");
    gather(1, source, bytes.data());
    auto* const words = static_cast<uint32_t*>(allocate((rows + 31) / 32 * sizeof(uint32_t)));
    transform::pack_bits(queue, bytes.as<uint8_t>(), rows, words);
    return words;
  };
  for (size_t i = 0; i < shape_.columns.size(); ++i) {
    ColumnView column = shape_.columns[i];
    column.memory = Memory::kDevice;
    if (rows != 0) {
      auto const values = [i](const RowBlock& block) { return block.values[i]; };
      auto const valid = [i](const RowBlock& block) { return block.valid[i]; };
      if (column.layout == Layout::kBits) {
        column.data = gather_bits(values);
      } else {
        uint64_t const width = width_of(column);
        column.data = allocate(base::checked_bytes(rows, width));
        gather(width, values, brought->buffers.back().data());
      }
      bool const has_nulls = std::any_of(runs.begin(), runs.end(), [&](RowRun const& run) {
        return valid(*run.block) != nullptr;
      });
      if (has_nulls) column.validity = reinterpret_cast<const uint8_t*>(gather_bits(valid));
    }
    made->columns.push_back(std::move(column));
  }
  made->owner = std::move(brought);
  return made;
}

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
