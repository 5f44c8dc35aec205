#include "src/pieces/row_store.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "src/base/status.hpp"
#include "src/cpu/workers.hpp"
#include "src/execute/no_room.hpp"
#include "src/pieces/rows_by_partition.hpp"
#include "src/pieces/with_room.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Appended at once: a sixteenth of a block, which then does not outgrow its size by much.
int64_t rows_at_once(const StoreShape& shape) {
  constexpr uint64_t kMost = uint64_t{1} << 16;
  uint64_t const rows = shape.block_bytes / (16 * bytes_of_row(*shape.schema));
  return static_cast<int64_t>(std::clamp<uint64_t>(rows, 64, kMost));
}

// Of a block of a partition. All that are open take a half of what a store may keep at most.
int64_t open_rows(const StoreShape& shape) {
  uint64_t bytes = shape.block_bytes / 4;
  if (shape.memory_bytes != 0) {
    bytes = std::min(bytes, shape.memory_bytes / (2 * (uint64_t{shape.partitions} + 1)));
  }
  return static_cast<int64_t>(std::max<uint64_t>(bytes / bytes_of_row(*shape.schema), 64));
}

Partitioning partitioning_of(const StoreShape& shape) {
  return {shape.keys, shape.key_flags, shape.partitions, shape.seed};
}

size_t first_stripe(size_t count) {
  static std::atomic<size_t> threads{0};
  thread_local size_t const mine = threads.fetch_add(1);
  return mine % count;
}

uint64_t sum_of(const std::vector<std::span<const std::byte>>& parts) {
  return std::accumulate(
      parts.begin(), parts.end(), uint64_t{0},
      [](uint64_t sum, std::span<const std::byte> bytes) { return sum + bytes.size(); });
}

}  // namespace

RowStore::RowStore(StoreShape shape)
    : shape_(std::move(shape)),
      partitioner_(partitioner_of(shape_)),
      rows_at_once_(rows_at_once(shape_)),
      memory_{std::make_shared<base::Pool>(shape_.context->host_account), base::Memory::kHost},
      open_memory_{memory_.pool, memory_.kind, open_rows(shape_)} {
  parts_.push_back(std::make_unique<Part>());
}

std::unique_ptr<GatheredRows> RowStore::new_rows() const {
  bool const are_sent = partitioner_ != nullptr && is_partitioned();
  if (!shape_.is_pinned && !are_sent) return std::make_unique<GatheredRows>(shape_.schema, memory_);
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
    bool const is_empty = stripe->rows->rows() == 0;
    if (!execute::is_no_room(error) && (!is_full || is_empty)) throw;
    // What is there may go to a file, and an empty block has room for more text.
    if (!is_empty) store(std::exchange(stripe->rows, new_rows()), end);
    with_room(
        *shape_.context, [&] { end.check(); }, [&] { append(*stripe->rows); });
  }
  if (is_full(*stripe->rows)) store(std::move(stripe->rows), end);
}

bool RowStore::is_full(const GatheredRows& rows) const {
  int64_t const whole = rows.memory().whole_rows;
  if (whole == 0) return rows.bytes() >= shape_.block_bytes;
  // Where the next ones would not fit; text has a room of its own.
  return rows.rows() + rows_at_once_ > whole || rows.text_bytes() >= shape_.block_bytes;
}

void RowStore::append(const std::shared_ptr<const Relation>& batch, int64_t first_row,
                      const base::CallEnd& end) {
  auto rest = batch;
  if (takes_where_it_lies(*batch)) {
    int64_t const taken = partition_on_device(*batch, first_row, end);
    appended_bytes_ += static_cast<uint64_t>(taken) * bytes_of_row(*shape_.schema);
    rest = rest_in_host(batch, taken, end);
    first_row += taken;
  }
  for (int64_t first = 0; first < rest->rows; first += rows_at_once_) {
    int64_t const count = std::min(rows_at_once_, rest->rows - first);
    append_to_stripe([&](GatheredRows& rows) { rows.append(*rest, first, count, first_row); }, end);
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

// First where the rows of each block go, then the rows of each partition: in order, and no two
// threads wait for each other.
void RowStore::append_blocks(base::Queue& queue,
                             std::span<const std::shared_ptr<const Relation>> blocks) {
  cpu::Workers workers(queue);
  std::vector<std::optional<RowsByPartition>> rows(blocks.size());
  workers.for_each("partition rows", static_cast<int64_t>(blocks.size()), [&](int64_t i, int32_t) {
    auto const block = static_cast<size_t>(i);
    rows[block].emplace(*blocks[block], partitioning_of(shape_));
  });
  workers.for_each("copy rows of partitions", static_cast<int64_t>(parts_.size()),
                   [&](int64_t i, int32_t) {
                     auto const part = static_cast<size_t>(i);
                     for (size_t block = 0; block < blocks.size(); ++block) {
                       scatter(*parts_[part], *blocks[block], rows[block]->of(part), queue.end);
                     }
                   });
  if (is_over()) make_room(queue.end);
}

void RowStore::store(std::unique_ptr<GatheredRows> rows, const base::CallEnd& end) {
  if (rows->rows() == 0) return;
  appended_bytes_ += sum_of(rows->parts());
  if (!add_whole(rows)) append_block(as_relation(std::move(rows)), end);
  rows = nullptr;
  if (is_over()) make_room(end);
}

// Whether it is a block, as nothing is partitioned.
bool RowStore::add_whole(std::unique_ptr<GatheredRows>& rows) {
  std::lock_guard const lock(mutex_);
  if (is_partitioned_) return false;
  add_block(*parts_.front(), std::move(rows));
  return true;
}

// expected: mutex_ is held.
void RowStore::add_block(Part& part, std::unique_ptr<GatheredRows> rows) {
  Block block;
  block.rows = rows->rows();
  block.bytes = rows->bytes();
  block.text_bytes = rows->text_bytes();
  block.rows_in_memory = std::move(rows);
  bytes_in_memory_ += block.bytes;
  part.bytes_in_memory += block.bytes;
  part.bytes += block.bytes;
  part.rows += block.rows;
  part.blocks.push_back(std::move(block));
}

void RowStore::append_block(const std::shared_ptr<const Relation>& block,
                            const base::CallEnd& end) {
  auto rest = block;
  if (partitioner_ != nullptr) {
    rest = rest_in_host(block, partition_on_device(*block, std::nullopt, end), end);
  }
  if (rest->rows == 0) return;
  RowsByPartition const rows(*rest, partitioning_of(shape_));
  for (size_t p = 0; p < parts_.size(); ++p) scatter(*parts_[p], *rest, rows.of(p), end);
}

void RowStore::scatter(Part& part, const Relation& block, std::span<const uint32_t> rows,
                       const base::CallEnd& end) {
  end.check();
  bool made_room = false;
  while (!rows.empty()) {
    try {
      rows = rows.subspan(append_open(part, block, rows));
    } catch (const base::Error& error) {
      bool const is_full = error.status() == GPUJOIN_ERROR_TOO_MANY_ROWS;
      if (made_room || (!execute::is_no_room(error) && !is_full)) throw;
      // An empty block has room for more text, and all others may go to the file.
      made_room = true;
      close_open_rows();
      if (shape_.folder != nullptr) write_blocks(0, end);
    }
  }
}

// Returns how many, at least one.
size_t RowStore::append_open(Part& part, const Relation& block, std::span<const uint32_t> rows) {
  std::lock_guard const lock(part.mutex);
  if (part.open == nullptr) {
    part.open = std::make_unique<GatheredRows>(shape_.schema, open_memory_);
  }
  GatheredRows& open = *part.open;
  auto const room = static_cast<size_t>(open_memory_.whole_rows - open.rows());
  auto const some = rows.first(std::min(rows.size(), room));
  // Buffers may have grown even if it throws.
  struct Growth {
    std::atomic<uint64_t>& all;
    GatheredRows& rows;
    uint64_t before = rows.bytes();
    ~Growth() { all += rows.bytes() - before; }
  };
  {
    Growth const growth{open_bytes_, open};
    open.append_rows(block, some, std::nullopt);
  }
  bool const is_full =
      open.rows() >= open_memory_.whole_rows || open.text_bytes() >= shape_.block_bytes / 4;
  if (is_full) close(part);
  return some.size();
}

// expected: its mutex is held.
void RowStore::close(Part& part) {
  auto rows = std::move(part.open);
  if (rows == nullptr) return;
  open_bytes_ -= rows->bytes();
  if (rows->rows() == 0) return;
  std::lock_guard const lock(mutex_);
  add_block(part, std::move(rows));
}

void RowStore::close_open_rows() {
  if (!is_partitioned()) return;
  for (auto const& part : parts_) {
    std::lock_guard const lock(part->mutex);
    close(*part);
  }
}

void RowStore::begin_partitions() {
  std::lock_guard const lock(mutex_);
  if (is_partitioned_) return;
  std::vector<std::unique_ptr<Part>> parts;
  for (size_t p = 0; p <= shape_.partitions; ++p) parts.push_back(std::make_unique<Part>());
  // With keys none of them is in a file.
  for (Block& block : parts_.front()->blocks) whole_.push_back(std::move(block.rows_in_memory));
  parts_ = std::move(parts);
  is_partitioned_.store(true, std::memory_order_release);
}

std::shared_ptr<GatheredRows> RowStore::take_whole() {
  std::lock_guard const lock(mutex_);
  if (whole_.empty()) return nullptr;
  auto rows = std::move(whole_.front());
  whole_.pop_front();
  return rows;
}

// One block. False: there is none.
bool RowStore::scatter_whole(const base::CallEnd& end) {
  auto rows = take_whole();
  if (rows == nullptr) return false;
  uint64_t const bytes = rows->bytes();
  append_block(as_relation(std::move(rows)), end);
  bytes_in_memory_ -= bytes;
  return true;
}

// Other joins of a query have rows that wait, too, and who joins needs the other half. Of a store
// whose rows go to files anyway, which the host partitions: what a device partitions is sent there.
bool RowStore::is_memory_used(uint64_t quarters) const {
  if (!is_partitioned() || partitioner_ != nullptr) return false;
  base::Account const& account = *shape_.context->host_account;
  uint64_t const limit = account.limit_bytes();
  return limit != 0 && account.in_use_bytes() > limit / 4 * quarters;
}

bool RowStore::is_over() const {
  constexpr uint64_t kScarceShare = 8;
  if (shape_.memory_bytes == 0) return false;
  uint64_t const blocks = bytes_in_memory_;
  uint64_t const most = shape_.memory_bytes / kScarceShare;
  return blocks + open_bytes_ + run_bytes_ > shape_.memory_bytes ||
         (blocks > most && is_memory_used(2)) || (blocks + open_bytes_ > most && is_memory_used(3));
}

// Until half of it is there again: files are written in large pieces. Of open rows they are small,
// which is for when there is hardly anything else.
void RowStore::write_half(const base::CallEnd& end) {
  if (!is_memory_used(2)) return write_blocks(shape_.memory_bytes / 2, end);
  if (is_memory_used(3)) close_open_rows();
  write_blocks(0, end);
}

void RowStore::make_room(const base::CallEnd& end) {
  if (shape_.folder == nullptr) return;
  if (!shape_.keys.empty()) begin_partitions();
  do {
    if (is_over()) write_half(end);
  } while (scatter_whole(end));
  if (is_over()) write_half(end);
}

// The oldest of the partition that has most. None: those in memory take no more than `most`, or all
// are on their way.
std::optional<RowStore::Leaving> RowStore::begin_writing(uint64_t most) {
  std::lock_guard const lock(mutex_);
  if (bytes_in_memory_ <= most) return std::nullopt;
  auto const largest = std::max_element(
      parts_.begin(), parts_.end(),
      [](auto const& a, auto const& b) { return a->bytes_in_memory < b->bytes_in_memory; });
  Part& part = **largest;
  auto const stays = [&] {
    return part.first_unwritten < part.blocks.size() && part.blocks[part.first_unwritten].run;
  };
  while (stays()) ++part.first_unwritten;
  if (part.first_unwritten == part.blocks.size()) return std::nullopt;
  if (file_ == nullptr) file_ = std::make_shared<base::SpillFile>(shape_.folder);
  size_t const place = part.first_unwritten++;
  Block const& block = part.blocks[place];
  part.bytes_in_memory -= block.bytes;
  bytes_in_memory_ -= block.bytes;
  return Leaving{&part, place, block.rows_in_memory};
}

void RowStore::write_blocks(uint64_t most, const base::CallEnd& end) {
  for (;;) {
    end.check();
    auto const leaving = begin_writing(most);
    if (!leaving) return;
    write(*leaving);
  }
}

// Who fails here leaves a store that is worth nothing.
void RowStore::write(const Leaving& leaving) {
  auto const parts = leaving.rows->parts();
  uint64_t const bytes = sum_of(parts);
  uint64_t const offset = file_->append(parts);
  written_bytes_ += bytes;
  std::lock_guard const lock(mutex_);
  Block& block = leaving.part->blocks[leaving.block];
  block.extent = leaving.rows->extent();
  block.file_bytes = bytes;
  block.offset = offset;
  block.rows_in_memory = nullptr;
}

void RowStore::finish(const base::CallEnd& end) {
  for (Stripe& stripe : stripes_) {
    std::lock_guard const lock(stripe.mutex);
    if (stripe.rows != nullptr) store(std::move(stripe.rows), end);
  }
  // From before it was partitioned.
  while (is_partitioned() && scatter_whole(end)) continue;
  close_open_rows();
  if (is_over()) make_room(end);
  close_open_rows();
  if (partitioner_ != nullptr) partitioner_->rest();
}

void RowStore::partition(base::Queue& queue) {
  begin_partitions();
  if (partitioner_ != nullptr) {
    while (scatter_whole(queue.end)) continue;
    partitioner_->rest();
  }
  while (!whole_.empty()) {
    std::vector<std::shared_ptr<const Relation>> blocks;
    uint64_t bytes = 0;
    while (!whole_.empty() && blocks.size() < kBlocksAtOnce) {
      bytes += whole_.front()->bytes();
      blocks.push_back(as_relation(take_whole()));
    }
    append_blocks(queue, blocks);
    bytes_in_memory_ -= bytes;
  }
  close_open_rows();
}

}  // namespace gpujoin::pieces
