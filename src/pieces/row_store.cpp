#include "src/pieces/row_store.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/pieces/key_hash.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Most rows that a relation may have, less some for whoever counts one more.
constexpr int64_t kMostRows = int64_t{1} << 31;
// A column of text whose offsets have 4 bytes.
constexpr uint64_t kMostText = (uint64_t{1} << 31) - 1;
// Appended at once: a sixteenth of a block, which then does not outgrow its size by much.
int64_t rows_at_once(const StoreShape& shape) {
  constexpr uint64_t kMost = uint64_t{1} << 16;
  uint64_t const rows = shape.block_bytes / (16 * bytes_of_row(*shape.schema));
  return static_cast<int64_t>(std::clamp<uint64_t>(rows, 64, kMost));
}

size_t first_stripe(size_t count) {
  static std::atomic<size_t> threads{0};
  thread_local size_t const mine = threads.fetch_add(1);
  return mine % count;
}

std::shared_ptr<const Relation> as_relation(std::shared_ptr<GatheredRows> rows,
                                            const std::shared_ptr<base::Context>& context) {
  auto relation = std::make_shared<Relation>(rows->view(context));
  relation->owner = std::move(rows);
  return relation;
}

uint64_t sum_of(const std::vector<std::span<const std::byte>>& parts) {
  return std::accumulate(
      parts.begin(), parts.end(), uint64_t{0},
      [](uint64_t sum, std::span<const std::byte> bytes) { return sum + bytes.size(); });
}

}  // namespace

RowStore::RowStore(StoreShape shape)
    : shape_(std::move(shape)),
      rows_at_once_(rows_at_once(shape_)),
      memory_{std::make_shared<base::Pool>(shape_.context->host_account), base::Memory::kHost},
      parts_(1) {}

std::unique_ptr<GatheredRows> RowStore::new_rows() const {
  if (!shape_.is_pinned) return std::make_unique<GatheredRows>(shape_.schema, memory_);
  auto const rows = static_cast<int64_t>(shape_.block_bytes / bytes_of_row(*shape_.schema));
  RowMemory const pinned{shape_.context->pinned_pool, base::Memory::kPinned, rows};
  // What a block may grow to, and what it is copied from then.
  bool const has_room = pinned.pool->account().has_pinned_room(3 * shape_.block_bytes);
  return std::make_unique<GatheredRows>(shape_.schema, has_room ? pinned : memory_);
}

template <typename Append>
void RowStore::append_to_stripe(const Append& append, const base::CallEnd& end) {
  end.check();
  size_t const first = first_stripe(stripes_.size());
  Stripe* stripe = nullptr;
  std::unique_lock<std::mutex> lock;
  for (size_t i = 0; i < stripes_.size() && !lock.owns_lock(); ++i) {
    stripe = &stripes_[(first + i) % stripes_.size()];
    lock = std::unique_lock(stripe->mutex, std::try_to_lock);
  }
  if (!lock.owns_lock()) {
    stripe = &stripes_[first];
    lock = std::unique_lock(stripe->mutex);
  }
  if (stripe->rows == nullptr) stripe->rows = new_rows();
  try {
    append(*stripe->rows);
  } catch (const base::Error& error) {
    bool const is_full = error.status() == GPUJOIN_ERROR_TOO_MANY_ROWS;
    if (stripe->rows->rows() == 0 || (!execute::is_no_room(error) && !is_full)) throw;
    // What is there may go to a file, and an empty block has room for more text.
    store(std::exchange(stripe->rows, new_rows()), end);
    append(*stripe->rows);
  }
  if (is_full(*stripe->rows)) store(std::move(stripe->rows), end);
}

bool RowStore::is_full(const GatheredRows& rows) const {
  int64_t const whole = rows.memory().whole_rows;
  if (whole == 0) return rows.bytes() >= shape_.block_bytes;
  // Where the next ones would not fit; text has a room of its own.
  return rows.rows() + rows_at_once_ > whole || rows.text_bytes() >= shape_.block_bytes;
}

void RowStore::append(const Relation& batch, int64_t first_row, const base::CallEnd& end) {
  for (int64_t first = 0; first < batch.rows; first += rows_at_once_) {
    int64_t const count = std::min(rows_at_once_, batch.rows - first);
    append_to_stripe([&](GatheredRows& rows) { rows.append(batch, first, count, first_row); }, end);
  }
}

void RowStore::append(const Relation& batch, std::span<const uint32_t> rows, int64_t first_row,
                      const base::CallEnd& end) {
  auto const most = static_cast<size_t>(rows_at_once_);
  for (size_t first = 0; first < rows.size(); first += most) {
    auto const some = rows.subspan(first, std::min(most, rows.size() - first));
    append_to_stripe([&](GatheredRows& into) { into.append_rows(batch, some, first_row); }, end);
  }
}

void RowStore::append_gathered(const Relation& block, const base::CallEnd& end) {
  std::lock_guard const lock(mutex_);
  if (is_partitioned_) {
    scatter(block, end);
  } else {
    auto rows = new_rows();
    rows->append(block, 0, block.rows, std::nullopt);
    add_block(&parts_.front(), std::move(rows));
  }
  if (is_over()) make_room(end);
}

void RowStore::store(std::unique_ptr<GatheredRows> rows, const base::CallEnd& end) {
  if (rows->rows() == 0) return;
  appended_bytes_ += sum_of(rows->parts());
  std::lock_guard const lock(mutex_);
  if (is_partitioned_) {
    scatter(rows->view(shape_.context), end);
  } else {
    add_block(&parts_.front(), std::move(rows));
  }
  if (is_over()) make_room(end);
}

void RowStore::add_block(Part* part, std::unique_ptr<GatheredRows> rows) {
  Block block;
  block.rows = rows->rows();
  block.bytes = rows->bytes();
  block.text_bytes = rows->text_bytes();
  block.rows_in_memory = std::move(rows);
  bytes_in_memory_ += block.bytes;
  part->bytes_in_memory += block.bytes;
  part->bytes += block.bytes;
  part->rows += block.rows;
  part->blocks.push_back(std::move(block));
}

// Of a partition that is open, blocks are a part of what others have: there are many of them.
void RowStore::scatter(const Relation& block, const base::CallEnd& end) {
  auto const count = static_cast<size_t>(block.rows);
  std::vector<uint64_t> hashes(count);
  std::vector<uint8_t> has_null(count);
  hash_keys(block, shape_.keys, shape_.key_flags, 0, block.rows, shape_.seed, hashes.data(),
            has_null.data());
  std::vector<uint32_t> begin(parts_.size() + 1, 0);
  auto const part_of = [&](size_t row) {
    return has_null[row] != 0 ? null_part() : static_cast<size_t>(hashes[row] % shape_.partitions);
  };
  for (size_t row = 0; row < count; ++row) ++begin[part_of(row) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> order(count);
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  for (size_t row = 0; row < count; ++row) {
    order[next[part_of(row)]++] = static_cast<uint32_t>(row);
  }
  for (size_t p = 0; p < parts_.size(); ++p) {
    std::span const rows(order.data() + begin[p], begin[p + 1] - begin[p]);
    if (rows.empty()) continue;
    Part& part = parts_[p];
    if (part.open == nullptr) part.open = new_rows();
    try {
      part.open->append_rows(block, rows, std::nullopt);
    } catch (const base::Error& error) {
      if (part.open->rows() == 0 && !execute::is_no_room(error)) throw;
      if (part.open->rows() != 0) add_block(&part, std::exchange(part.open, new_rows()));
      // Open rows are closed there, these among them.
      make_room(end);
      if (part.open == nullptr) part.open = new_rows();
      part.open->append_rows(block, rows, std::nullopt);
    }
    bool const is_full = part.open->bytes() >= shape_.block_bytes / 4;
    if (is_full) add_block(&part, std::exchange(part.open, nullptr));
  }
}

void RowStore::partition_blocks(const base::CallEnd& end) {
  Part whole = std::move(parts_.front());
  parts_ = std::vector<Part>(size_t{shape_.partitions} + 1);
  is_partitioned_ = true;
  for (Block& block : whole.blocks) {
    end.check();
    bool const was_in_memory = block.rows_in_memory != nullptr;
    {
      auto const rows = was_in_memory ? block.rows_in_memory : read(block);
      scatter(rows->view(shape_.context), end);
    }
    if (was_in_memory) {
      block.rows_in_memory = nullptr;
      bytes_in_memory_ -= block.bytes;
    } else {
      file_->release(block.offset, block.file_bytes);
    }
    if (is_over()) make_room(end);
  }
}

uint64_t RowStore::open_bytes() const {
  return std::accumulate(parts_.begin(), parts_.end(), uint64_t{0},
                         [](uint64_t sum, const Part& part) {
                           return sum + (part.open == nullptr ? 0 : part.open->bytes());
                         });
}

bool RowStore::is_over() const {
  return shape_.memory_bytes != 0 && bytes_in_memory_ + open_bytes() > shape_.memory_bytes;
}

// Until half of it is there again: files are written in large pieces.
void RowStore::make_room(const base::CallEnd& end) {
  if (shape_.folder == nullptr) return;
  if (!is_partitioned_ && !shape_.keys.empty()) partition_blocks(end);
  if (!is_over()) return;
  close_open_rows();
  uint64_t const target = shape_.memory_bytes / 2;
  while (bytes_in_memory_ > target) {
    auto const largest = std::max_element(
        parts_.begin(), parts_.end(),
        [](const Part& a, const Part& b) { return a.bytes_in_memory < b.bytes_in_memory; });
    if (largest->bytes_in_memory == 0) return;
    for (Block& block : largest->blocks) {
      end.check();
      if (block.rows_in_memory != nullptr) spill(&*largest, &block);
      if (!is_partitioned_ && bytes_in_memory_ <= target) break;
    }
  }
}

void RowStore::spill(Part* part, Block* block) {
  if (file_ == nullptr) file_ = std::make_unique<base::SpillFile>(shape_.folder);
  auto const parts = block->rows_in_memory->parts();
  block->extent = block->rows_in_memory->extent();
  block->file_bytes = sum_of(parts);
  block->offset = file_->append(parts);
  written_bytes_ += block->file_bytes;
  block->rows_in_memory = nullptr;
  part->bytes_in_memory -= block->bytes;
  bytes_in_memory_ -= block->bytes;
}

std::shared_ptr<GatheredRows> RowStore::read(const Block& block) const {
  auto rows = std::make_shared<GatheredRows>(shape_.schema, memory_);
  file_->read(block.offset, rows->make_room(block.extent));
  return rows;
}

void RowStore::close_open_rows() {
  for (Part& part : parts_) {
    if (part.open != nullptr && part.open->rows() != 0) add_block(&part, std::move(part.open));
    part.open = nullptr;
  }
}

void RowStore::finish(const base::CallEnd& end) {
  for (Stripe& stripe : stripes_) {
    std::lock_guard const lock(stripe.mutex);
    if (stripe.rows != nullptr) store(std::move(stripe.rows), end);
  }
  std::lock_guard const lock(mutex_);
  close_open_rows();
  if (is_over()) make_room(end);
  close_open_rows();
}

void RowStore::partition(const base::CallEnd& end) {
  std::lock_guard const lock(mutex_);
  if (!is_partitioned_) partition_blocks(end);
  close_open_rows();
}

int64_t RowStore::rows() const {
  return std::accumulate(parts_.begin(), parts_.end(), int64_t{0},
                         [](int64_t sum, const Part& part) { return sum + part.rows; });
}

uint64_t RowStore::bytes() const {
  return std::accumulate(parts_.begin(), parts_.end(), uint64_t{0},
                         [](uint64_t sum, const Part& part) { return sum + part.bytes; });
}

uint64_t RowStore::spilled_bytes() const { return bytes() - bytes_in_memory_; }

std::shared_ptr<const Relation> RowStore::block(size_t part, size_t block) const {
  Block const& known = parts_[part].blocks[block];
  return as_relation(known.rows_in_memory != nullptr ? known.rows_in_memory : read(known),
                     shape_.context);
}

std::vector<RowStore::Blocks> RowStore::groups(size_t part, uint64_t most_bytes) const {
  std::vector<Blocks> made;
  int64_t rows = 0;
  uint64_t text = 0;
  uint64_t bytes = 0;
  std::vector<Block> const& blocks = parts_[part].blocks;
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block const& block = blocks[i];
    bool const fits = !made.empty() && rows + block.rows <= kMostRows &&
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

std::shared_ptr<const Relation> RowStore::read_all(size_t part, Blocks blocks) const {
  if (blocks.end - blocks.first == 1) return block(part, blocks.first);
  auto all = new_rows();
  for (size_t i = blocks.first; i < blocks.end; ++i) {
    auto const some = block(part, i);
    all->append(*some, 0, some->rows, std::nullopt);
  }
  return as_relation(std::move(all), shape_.context);
}

std::vector<std::shared_ptr<const Relation>> RowStore::take_blocks() {
  std::lock_guard const lock(mutex_);
  std::vector<std::shared_ptr<const Relation>> taken;
  for (Block& block : parts_.front().blocks) {
    taken.push_back(as_relation(std::move(block.rows_in_memory), shape_.context));
  }
  parts_.front() = Part();
  bytes_in_memory_ = 0;
  return taken;
}

void RowStore::drop(size_t part) {
  std::lock_guard const lock(mutex_);
  Part& dropped = parts_[part];
  for (Block const& block : dropped.blocks) {
    if (block.rows_in_memory == nullptr) file_->release(block.offset, block.file_bytes);
  }
  bytes_in_memory_ -= dropped.bytes_in_memory;
  dropped = Part();
}

}  // namespace gpujoin::pieces
