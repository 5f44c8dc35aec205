#include "src/pieces/build.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/copied_rows.hpp"
#include "src/execute/key_places.hpp"
#include "src/execute/row_picker.hpp"
#include "src/pieces/brought_rows.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

StoreShape shape_of(const std::shared_ptr<base::Context>& context, const Budget& budget,
                    std::shared_ptr<const RowSchema> schema, const BuildShape& build) {
  StoreShape shape;
  shape.context = context;
  shape.schema = std::move(schema);
  shape.keys = build.keys;
  shape.key_flags = build.key_flags;
  shape.partitions = budget.partitions;
  shape.seed = context->hash_seed;
  shape.memory_bytes = budget.store_bytes;
  shape.block_bytes = budget.block_bytes;
  shape.moving_bytes = budget.moving_bytes;
  // Of one key, partitions stay while rows of probes come (staying_partitions.hpp), which is worth
  // more.
  if (build.keys.size() != 1) shape.resident_bytes = budget.resident_bytes;
  shape.folder = build.folder;
  return shape;
}

// Which a table of addresses may have: compared as they are.
bool has_plain_key(const Relation& rows, int32_t key) {
  auto const& column = rows.columns[static_cast<size_t>(key)];
  return is_whole_number(column.type) && column.width >= 4;
}

bool is_copied_there(const Relation& batch) {
  auto const is_plain = [](columns::ColumnView const& column) {
    return column.layout == columns::Layout::kValues || column.layout == columns::Layout::kText;
  };
  return is_read_where_it_lies(batch) &&
         std::all_of(batch.columns.begin(), batch.columns.end(), is_plain);
}

// Rows of what is registered, or of some columns of it.
void append_picked(base::Queue& queue, const Relation& picked,
                   const std::shared_ptr<const Relation>& registered, int64_t first_row,
                   RowStore* store) {
  auto const rows = in_host(queue, registered);
  execute::RowPicker picker(queue, base::Memory::kHost, picked);
  auto const* const numbers = static_cast<const uint32_t*>(picker.numbers().get());
  store->append(*rows, std::span(numbers, static_cast<size_t>(picked.rows)), first_row, queue.end);
}

}  // namespace

std::shared_ptr<const Relation> on_device(base::Queue& queue,
                                          const std::shared_ptr<const Relation>& rows) {
  return brought(queue, rows, base::Memory::kDevice);
}

void append_batch(base::Context& context, const std::shared_ptr<const Relation>& batch,
                  int64_t first_row, RowStore* store, const base::CallEnd& end) {
  if (batch->selection == nullptr && store->takes_where_it_lies(*batch)) {
    return store->append(batch, first_row, end);
  }
  auto const registered = columns::as_registered(batch);
  bool const is_elsewhere = lies_on_device(*registered);
  if (batch->selection == nullptr && !is_elsewhere) return store->append(batch, first_row, end);
  base::LeasedQueue const queue(context, end);
  if (batch->selection != nullptr) {
    return append_picked(*queue, *batch, registered, first_row, store);
  }
  store->append(in_host(*queue, registered), first_row, end);
}

void append_columns(base::Context& context, const std::shared_ptr<const Relation>& batch,
                    const std::vector<int32_t>& columns, int64_t first_row, RowStore* store,
                    const base::CallEnd& end) {
  auto const rows = only_columns(columns::as_registered(batch), columns);
  if (batch->selection == nullptr) return append_batch(context, rows, first_row, store, end);
  base::LeasedQueue const queue(context, end);
  append_picked(*queue, *batch, rows, first_row, store);
}

Build::Build(std::shared_ptr<base::Context> of, const Relation& like, BuildShape shape)
    : context(std::move(of)),
      interrupt(std::make_shared<base::Interrupt>()),
      shape_(std::move(shape)),
      budget_(budget_of(*context, shape_.on_gpu)),
      store_(shape_of(context, budget_, make_row_schema(like, shape_.has_row_numbers), shape_)),
      none_(relation_of(*store_.shape().schema, context)) {
  check_least_limits(*context, shape_.on_gpu, *store_.shape().schema);
}

void Build::append(const std::shared_ptr<const Relation>& batch, int64_t first_row) {
  check_batch(*store_.shape().schema, *columns::as_registered(batch), "batch");
  if (is_finished_) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "build is finished");
  check_usable();
  or_lost([&] {
    // Before any of them is there: threads that bring batches at the same time see each other's.
    coming_rows_ += batch->rows;
    begin_partitions_before(*batch);
    if (!keep_on_device(batch)) append_batch(*context, batch, first_row, &store_, end());
    rows_ += batch->rows;
  });
}

// Of a call that fails half way some rows may be there: what comes of them is no join.
template <typename Call>
void Build::or_lost(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    failed_with_ = error.status();
    throw;
  } catch (const std::bad_alloc&) {
    failed_with_ = GPUJOIN_ERROR_OUT_OF_MEMORY;
    throw;
  } catch (...) {
    failed_with_ = GPUJOIN_ERROR_INTERNAL;
    throw;
  }
}

void Build::lose(int32_t status) noexcept {
  int32_t none = 0;
  failed_with_.compare_exchange_strong(none, status);
}

std::shared_ptr<const Relation> Build::without_numbers() const {
  if (!shape_.has_row_numbers) return none_;
  auto columns = std::make_shared<Relation>(*none_);
  columns->columns.pop_back();
  return columns;
}

base::CallEnd Build::end() const {
  return {interrupt, 0, base::deadline_in(shape_.timeout_milliseconds)};
}

BuildSize Build::size() const {
  return {rows_, store_.appended_bytes() + device_bytes_, store_.written_bytes()};
}

void Build::check_usable() const {
  if (interrupt->cancels != 0) base::fail(GPUJOIN_ERROR_CANCELLED, "build: it was cancelled");
  if (failed_with_ == 0) return;
  base::fail(failed_with_, "build: a batch could not be taken before");
}

void Build::finish() {
  check_usable();
  if (is_finished_.exchange(true)) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "build is finished already");
  }
  or_lost([&] {
    if (store_.is_partitioned()) partition_device_batches();
    store_.finish(end());
    unite_device_batches();
    bool const fits = is_joined_whole(store_.bytes());
    is_whole_ =
        !parts_.empty() || (fits && !store_.is_partitioned() && store_.spilled_bytes() == 0);
    if (is_whole_) {
      make_parts();
    } else if (!store_.is_partitioned() && !shape_.keys.empty()) {
      base::LeasedQueue const queue(*context, end());
      store_.partition(*queue);
    }
    is_ready_.store(true, std::memory_order_release);
  });
}

void Build::begin_partitions_before(const Relation& batch) {
  if (!store_.is_partitioned_by_device() || store_.is_partitioned()) return;
  uint64_t const bytes = device_bytes_ + store_.appended_bytes() + bytes_of_values(batch);
  if (is_joined_whole(bytes)) return;
  // With those of other threads, which are on their way: what has no room there would be gathered.
  uint64_t const row_bytes = bytes_of_row(*store_.shape().schema);
  uint64_t const coming = static_cast<uint64_t>(coming_rows_) * row_bytes;
  bool const goes_there = batch.rows != 0 && is_copied_there(batch) && !shape_.has_row_numbers &&
                          (budget_.arriving_bytes == 0 || coming <= budget_.arriving_bytes);
  if (goes_there && may_be_whole(std::max(bytes, coming))) return;
  store_.begin_partitions();
  partition_device_batches();
}

void Build::check_unique(base::Queue& queue, const PromisedSide& side) const {
  if (is_unique_) return;
  RowBlocks rows;
  rows.count = parts_.size();
  rows.read = [this](base::Queue&, size_t i) { return parts_[i]; };
  pieces::check_unique(queue, side, rows, 0);
  is_unique_ = true;
}

// Of one key that a device hashes, a table is made once; of others by each piece.
bool Build::keeps_table() const {
  return shape_.on_gpu && shape_.keys.size() == 1 && store_.is_partitioned_by_device();
}

bool Build::is_joined_whole(uint64_t bytes) const {
  return budget_.joins_whole(bytes, static_cast<uint64_t>(coming_rows_), keeps_table());
}

bool Build::are_addresses(uint64_t places, uint64_t bytes) const {
  auto const& key = none_->columns[static_cast<size_t>(shape_.keys.front())];
  uint64_t row = 0;
  for (auto const& column : none_->columns) row += static_cast<uint64_t>(column.width);
  row -= static_cast<uint64_t>(key.width);
  // Some columns side by side take 8 bytes or 16.
  if (none_->columns.size() > 2 && row <= 16) row = row <= 8 ? 8 : 16;
  uint64_t const table = places * row + places / 8;
  return places != 0 && budget_.joins_whole_with(bytes, table);
}

bool Build::may_be_whole(uint64_t bytes) {
  if (is_joined_whole(bytes)) return true;
  bool const can_be = keeps_table() && has_plain_key(*none_, shape_.keys.front());
  return can_be && are_addresses(static_cast<uint64_t>(coming_rows_), bytes) &&
         may_be_addresses(bytes);
}

// More rows have no smaller range than the first ones.
bool Build::may_be_addresses(uint64_t bytes) {
  // A queue before the lock, as where batches are kept: there may be one for all.
  base::LeasedQueue const queue(*context, end());
  std::lock_guard const lock(device_mutex_);
  if (first_are_addresses_) return *first_are_addresses_;
  if (device_batches_.empty()) return true;
  uint64_t const places =
      execute::places_of_keys(*queue, *device_batches_.front().rows, shape_.keys.front());
  first_are_addresses_ = are_addresses(places, bytes);
  return *first_are_addresses_;
}

// Large batches go to the device as they come, while it has room for all of them.
bool Build::keep_on_device(const std::shared_ptr<const Relation>& batch) {
  if (!shape_.on_gpu || shape_.has_row_numbers || batch->rows == 0 || !is_copied_there(*batch) ||
      store_.is_partitioned()) {
    return false;
  }
  base::LeasedQueue const queue(*context, end());
  uint64_t const bytes = execute::bytes_of_copy(*queue, *batch);
  {
    std::lock_guard const lock(device_mutex_);
    bool const is_over =
        budget_.arriving_bytes != 0 && device_bytes_ + bytes > budget_.arriving_bytes;
    // Where a device partitions what does not fit, begin_partitions_before() has looked.
    bool const fits = store_.is_partitioned_by_device() || is_joined_whole(device_bytes_ + bytes);
    if (is_over || !fits) return false;
    device_bytes_ += bytes;
  }
  auto const key = keeps_table() ? std::optional(shape_.keys.front()) : std::nullopt;
  auto copied = execute::copied_on_device(*queue, *batch, key);
  std::lock_guard const lock(device_mutex_);
  if (copied.rows == nullptr) {
    device_bytes_ -= bytes;
    return false;
  }
  device_batches_.push_back({std::move(copied.rows), bytes});
  seen_keys_ = copied.seen;
  return true;
}

void Build::partition_device_batches() {
  std::vector<DeviceBatch> batches;
  {
    std::lock_guard const lock(device_mutex_);
    batches.swap(device_batches_);
  }
  for (DeviceBatch& batch : batches) {
    append_batch(*context, batch.rows, 0, &store_, end());
    batch.rows = nullptr;
    device_bytes_ -= batch.bytes;
  }
}

// All rows on the device. Null: they are to be rows of the store. expected: the store is finished.
std::shared_ptr<const Relation> Build::united_on_device() {
  uint64_t const bytes = device_bytes_ + store_.bytes();
  if (!may_be_whole(bytes)) return nullptr;
  base::LeasedQueue const queue(*context, end());
  std::vector<std::shared_ptr<const Relation>> parts;
  for (DeviceBatch const& batch : device_batches_) parts.push_back(batch.rows);
  for (auto const& group : store_.groups(0, 0)) {
    parts.push_back(on_device(*queue, store_.read_all(*queue, 0, group)));
  }
  if (parts.size() > 1) seen_keys_.reset();
  if (rows_ > kMostRowsOfRelation) return nullptr;
  auto all = execute::united_on_device(*queue, parts);
  if (all == nullptr || is_joined_whole(bytes)) return all;
  uint64_t const places = execute::places_of_keys(*queue, *all, shape_.keys.front());
  bool const are_close = places <= base::traffic::most_direct_places(static_cast<uint64_t>(rows_));
  return are_close && are_addresses(places, bytes) ? all : nullptr;
}

void Build::unite_device_batches() {
  if (device_batches_.empty()) return;
  if (auto all = united_on_device()) {
    device_batches_.clear();
    parts_ = {std::move(all)};
    return;
  }
  if (store_.is_partitioned_by_device()) store_.begin_partitions();
  // No queue is held here: with a stream of the caller's there is one, which these ask for.
  partition_device_batches();
  store_.finish(end());
}

void Build::make_parts() {
  if (!parts_.empty()) return store_.drop(0);
  seen_keys_.reset();
  base::LeasedQueue const queue(*context, end());
  for (auto const& group : store_.groups(0, 0)) {
    auto rows = store_.read_all(*queue, 0, group);
    parts_.push_back(shape_.on_gpu ? on_device(*queue, rows) : std::move(rows));
  }
  if (parts_.empty()) parts_.push_back(none_);
  // They have copies of it, where they are not the rows themselves.
  store_.drop(0);
}

}  // namespace gpujoin::pieces
