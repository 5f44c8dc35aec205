// stored_rows.cpp: what a store has when all rows have come.
#include <algorithm>
#include <numeric>
#include <utility>

#include "src/cpu/workers.hpp"
#include "src/pieces/row_store.hpp"
#include "src/pieces/run_rows.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// A column of text whose offsets have 4 bytes.
constexpr uint64_t kMostText = (uint64_t{1} << 31) - 1;

}  // namespace

std::shared_ptr<const Relation> RowStore::as_relation(std::shared_ptr<GatheredRows> rows) const {
  auto relation = std::make_shared<Relation>(rows->view(shape_.context));
  relation->owner = std::move(rows);
  return relation;
}

std::shared_ptr<GatheredRows> RowStore::read(const Block& block) const {
  auto rows = std::make_shared<GatheredRows>(shape_.schema, memory_);
  file_->read(block.offset, rows->make_room(block.extent));
  return rows;
}

int64_t RowStore::rows() const {
  return std::accumulate(parts_.begin(), parts_.end(), int64_t{0},
                         [](int64_t sum, auto const& part) { return sum + part->rows; });
}

uint64_t RowStore::bytes() const {
  return std::accumulate(parts_.begin(), parts_.end(), uint64_t{0},
                         [](uint64_t sum, auto const& part) { return sum + part->bytes; });
}

uint64_t RowStore::spilled_bytes() const { return bytes() - bytes_in_memory_ - run_bytes_; }

std::shared_ptr<const Relation> RowStore::block(size_t part, size_t block) const {
  Block const& known = parts_[part]->blocks[block];
  if (known.run) return as_relation(gathered_rows_of(run_in_host(known), shape_.schema, memory_));
  return as_relation(known.rows_in_memory != nullptr ? known.rows_in_memory : read(known));
}

execute::RowRun RowStore::run_in_host(const Block& block) const {
  auto const now = [&] {
    std::lock_guard const lock(mutex_);
    return *block.run;
  };
  if (!now().block->is_on_device()) return now();
  base::LeasedQueue const queue(*shape_.context);
  leave_device(*queue);
  return now();
}

std::vector<RowStore::Blocks> RowStore::groups(size_t part, uint64_t most_bytes) const {
  std::vector<Blocks> made;
  int64_t rows = 0;
  uint64_t text = 0;
  uint64_t bytes = 0;
  std::vector<Block> const& blocks = parts_[part]->blocks;
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block const& block = blocks[i];
    bool const fits = !made.empty() && rows + block.rows <= kMostRowsOfRelation &&
                      text + block.text_bytes <= kMostText &&
                      (most_bytes == 0 || bytes + block.bytes <= most_bytes);
    if (!fits) {
      made.push_back({i, i});
      rows = 0;
      text = bytes = 0;
    }
    made.back().end = i + 1;
    rows += block.rows;
    text += block.text_bytes;
    bytes += block.bytes;
  }
  return made;
}

// Of each column. Rows that a device partitioned have none.
std::vector<uint64_t> RowStore::text_bytes(size_t part, Blocks blocks) const {
  std::vector<uint64_t> bytes(shape_.schema->columns.size(), 0);
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    Block const& block = parts_[part]->blocks[i];
    if (block.run) continue;
    auto const extent = block.is_in_file() ? block.extent : block.rows_in_memory->extent();
    for (size_t c = 0; c < bytes.size(); ++c) bytes[c] += extent.columns[c].text_bytes;
  }
  return bytes;
}

// Blocks in memory together; of others one at a time is there twice.
std::shared_ptr<const Relation> RowStore::read_all(base::Queue& queue, size_t part,
                                                   Blocks blocks) const {
  if (blocks.end - blocks.first == 1) return block(part, blocks.first);
  RowMemory whole = memory_;
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    whole.whole_rows += parts_[part]->blocks[i].rows;
  }
  auto all = std::make_unique<GatheredRows>(shape_.schema, whole);
  all->expect_text(text_bytes(part, blocks));
  cpu::Workers workers(queue);
  std::vector<std::shared_ptr<const Relation>> some;
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    some.push_back(block(part, i));
    auto const stays = [&](size_t b) {
      return b < blocks.end && parts_[part]->blocks[b].rows_in_memory != nullptr;
    };
    if (stays(i) && stays(i + 1)) continue;
    all->append_all(workers, some);
    some.clear();
  }
  return as_relation(std::move(all));
}

std::shared_ptr<const Relation> RowStore::bring_all(base::Queue& queue, size_t part,
                                                    Blocks blocks) const {
  std::vector<execute::RowRun> runs;
  bool const are_runs = add_runs_of(part, blocks, &runs);
  if (!are_runs || runs.empty()) return read_all(queue, part, blocks);
  return partitioner_->bring(queue, runs);
}

void RowStore::read_ahead(size_t part) const {
  for (Block const& block : parts_[part]->blocks) {
    if (block.is_in_file()) file_->read_ahead(block.offset, block.file_bytes);
  }
}

std::vector<RowStore::TakenBlock> RowStore::take_blocks() {
  std::lock_guard const lock(mutex_);
  std::vector<TakenBlock> taken;
  if (parts_.front()->blocks.empty()) return taken;
  for (Block& block : parts_.front()->blocks) {
    if (block.rows_in_memory != nullptr) {
      taken.push_back({as_relation(std::move(block.rows_in_memory)), nullptr});
      continue;
    }
    auto from_file = [this, file = file_, block = std::move(block)] {
      auto rows = as_relation(read(block));
      file->release(block.offset, block.file_bytes);
      return rows;
    };
    taken.push_back({nullptr, std::move(from_file)});
  }
  parts_.front() = std::make_unique<Part>();
  bytes_in_memory_ = 0;
  return taken;
}

void RowStore::drop(size_t part) {
  std::lock_guard const lock(mutex_);
  Part const& dropped = *parts_[part];
  for (Block const& block : dropped.blocks) {
    if (block.is_in_file()) file_->release(block.offset, block.file_bytes);
    if (block.run) run_bytes_ -= block.bytes;
  }
  bytes_in_memory_ -= dropped.bytes_in_memory;
  parts_[part] = std::make_unique<Part>();
}

}  // namespace gpujoin::pieces
