// device_partitions.cpp: blocks of a store that a device partitions.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "src/base/copy.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/key_hash.hpp"
#include "src/pieces/row_store.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Of a batch: to begin a copy of less, and to wait for it, costs more than gathering it does.
constexpr int64_t kLeastRows = int64_t{1} << 16;
// Of blocks on the link at once: with more a device of a small limit has fewer on their way.
constexpr uint64_t kMostBlockBytes = uint64_t{8} << 20;

}  // namespace

// Null: the host partitions the rows.
std::shared_ptr<execute::RowPartitioner> RowStore::partitioner_of(const StoreShape& shape) {
  if (shape.moving_bytes == 0 || shape.keys.empty()) return nullptr;
  execute::PartitionShape made;
  made.columns = shape.schema->columns;
  made.has_row_numbers = shape.schema->has_row_numbers;
  made.keys = shape.keys;
  made.hash.partitions = shape.partitions;
  for (size_t i = 0; i < shape.keys.size(); ++i) {
    int32_t const flags = i < shape.key_flags.size() ? shape.key_flags[i] : 0;
    auto const& key = made.columns[static_cast<size_t>(shape.keys[i])];
    auto const hashed = hashed_column(key, flags, shape.seed, i);
    if (!hashed) return nullptr;
    made.hash.columns[i] = *hashed;
    ++made.hash.column_count;
  }
  made.device_bytes = shape.moving_bytes;
  made.resident_bytes = shape.resident_bytes;
  made.block_bytes = kMostBlockBytes;
  return execute::make_row_partitioner(shape.context, std::move(made));
}

bool RowStore::takes_where_it_lies(const Relation& batch) const {
  return partitioner_ != nullptr && is_partitioned() && batch.rows >= kLeastRows &&
         partitioner_->takes(batch);
}

// Of a host that has a limit a half: what is more goes to files, which runs do not.
bool RowStore::can_partition_on_device() const {
  bool const is_half = shape_.memory_bytes != 0 && run_bytes_ >= shape_.memory_bytes / 2;
  return !is_half && !device_had_no_room_;
}

// Answers how many rows there was room for.
int64_t RowStore::partition_on_device(const Relation& rows, std::optional<int64_t> first_number,
                                      const base::CallEnd& end) {
  if (!can_partition_on_device()) return 0;
  int64_t const taken = partitioner_->partition(
      rows, first_number, end,
      [&](const std::shared_ptr<const execute::RowBlock>& block) { add_runs(block); });
  if (taken != rows.rows) device_had_no_room_ = true;
  return taken;
}

std::vector<int64_t> RowStore::count(const Relation& block, const base::CallEnd& end) const {
  return partitioner_->count(block, end);
}

std::shared_ptr<const Relation> RowStore::append_others(
    const std::shared_ptr<const Relation>& block, const std::vector<bool>& stays,
    const base::CallEnd& end) {
  auto split = can_partition_on_device() ? partitioner_->split(*block, stays, end) : std::nullopt;
  if (!split) {
    append_block(block, end);
    return nullptr;
  }
  if (split->others != nullptr) add_runs(split->others);
  return std::move(split->staying);
}

bool RowStore::add_runs_of(size_t part, Blocks blocks, std::vector<execute::RowRun>* runs) const {
  std::lock_guard const lock(mutex_);
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    Block const& block = parts_[part]->blocks[i];
    if (!block.run) return false;
    runs->push_back(*block.run);
  }
  return true;
}

bool RowStore::is_runs(size_t part) const {
  std::lock_guard const lock(mutex_);
  auto const& blocks = parts_[part]->blocks;
  return std::all_of(blocks.begin(), blocks.end(), [](auto const& block) { return block.run; });
}

std::shared_ptr<const Relation> RowStore::bring_parts(base::Queue& queue,
                                                      const std::vector<size_t>& parts) const {
  std::vector<execute::RowRun> runs;
  for (size_t const part : parts) {
    if (!add_runs_of(part, {0, block_count(part)}, &runs)) return nullptr;
  }
  return partitioner_->bring(queue, runs);
}

void RowStore::add_runs(const std::shared_ptr<const execute::RowBlock>& block) {
  std::lock_guard const lock(mutex_);
  uint64_t const width = bytes_of_row(*shape_.schema);
  for (size_t p = 0; p < parts_.size(); ++p) {
    execute::RowRun run{block, p};
    if (run.rows() == 0) continue;
    Part& part = *parts_[p];
    Block made;
    made.rows = run.rows();
    made.bytes = width * run.rows();
    made.run = std::move(run);
    run_bytes_ += made.bytes;
    part.bytes += made.bytes;
    part.rows += made.rows;
    part.blocks.push_back(std::move(made));
  }
}

uint64_t RowStore::resident_bytes() const {
  std::lock_guard const lock(mutex_);
  std::set<const execute::RowBlock*> blocks;
  for (auto const& part : parts_) {
    for (Block const& block : part->blocks) {
      if (block.run && block.run->block->is_on_device()) blocks.insert(block.run->block.get());
    }
  }
  return std::accumulate(blocks.begin(), blocks.end(), uint64_t{0},
                         [](uint64_t bytes, auto* block) { return bytes + block->memory.bytes(); });
}

void RowStore::leave_device(base::Queue& queue) const {
  std::lock_guard const lock(mutex_);
  std::map<std::shared_ptr<const execute::RowBlock>, std::shared_ptr<const execute::RowBlock>> left;
  for (auto const& part : parts_) {
    for (Block& block : part->blocks) {
      if (!block.run || !block.run->block->is_on_device()) continue;
      auto& in_host = left[block.run->block];
      if (in_host == nullptr) in_host = partitioner_->in_host(queue, *block.run->block);
      block.run->block = in_host;
    }
  }
}

// From row `first` on.
std::shared_ptr<const Relation> RowStore::rest_in_host(const std::shared_ptr<const Relation>& rows,
                                                       int64_t first,
                                                       const base::CallEnd& end) const {
  auto const rest = slice(rows, first, rows->rows - first);
  if (rest->rows == 0 || !lies_on_device(*rest)) return rest;
  base::LeasedQueue const queue(*shape_.context, end);
  auto in_host = brought(*queue, rest, base::Memory::kHost);
  base::finish(*queue);
  return in_host;
}

}  // namespace gpujoin::pieces
