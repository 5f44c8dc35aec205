#include "src/execute/promises.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/derive_keys.hpp"
#include "src/execute/key_codes.hpp"
#include "src/execute/ordered_keys.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/row_picker.hpp"
#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;
using columns::Storage;

const char* name_of(bool left) { return left ? "left" : "right"; }

bool is_cuda(plan::Device device) { return device == plan::Device::kCuda; }
plan::Device device_of(bool on_gpu) { return on_gpu ? plan::Device::kCuda : plan::Device::kCpu; }

bool has_bytes(const ColumnView& column) {
  return keys::is_text(column.type) || keys::is_binary(column);
}

// A key as its rows are compared in their order.
class SortedKey {
 public:
  SortedKey(base::Queue& queue, plan::Device device, ColumnWork& work, const Relation& relation,
            const ColumnView& column) {
    if (have_order(column, column)) {
      // Nothing is on the other side.
      Relation none = relation;
      none.rows = 0;
      ordered_ = order_keys(queue, device, {relation, column}, {none, column});
      key.codes = static_cast<const uint64_t*>(ordered_.left.data);
      key.validity = validity_of(ordered_.left);
      return;
    }
    brought_ = bring_column(queue, work, column, relation.rows, &held_);
    ColumnView const& values = keys::values_of(brought_);
    int64_t const value_rows = value_rows_of(brought_, relation.rows);
    key.bytes = bytes_of(queue, work, values, value_rows, &held_);
    key.validity = validity_of(values);
    if (&values == &brought_) return;
    columns::GatherSource source;
    source.values = key.bytes;
    source.validity = key.validity;
    Storage const positions = positions_in(work, brought_, relation.rows);
    gathered_ = work.gather(source, static_cast<const uint32_t*>(positions.get()),
                            static_cast<uint64_t>(relation.rows));
    auto const* const data = static_cast<const uint8_t*>(gathered_.data.get());
    bool const is_wide = gathered_.offset_width == 8;
    if (gathered_.offsets != nullptr) {
      key.bytes = {};
      key.bytes.layout =
          is_wide ? kernels::BytesLayout::kOffsets64 : kernels::BytesLayout::kOffsets32;
      key.bytes.places = gathered_.offsets.get();
    }
    key.bytes.bytes = data;
    key.validity = {static_cast<const uint8_t*>(gathered_.validity.get()), 0};
  }

  kernels::SortedColumn key;

 private:
  OrderedKeys ordered_;
  Held held_;
  ColumnView brought_;
  columns::Gathered gathered_;
};

// One side's keys, by which rows are equal exactly where the keys are, without rows that have a
// NULL, which are equal to nothing.
class RowsByKey {
 public:
  RowsByKey(base::Queue& queue, plan::Device device, const std::shared_ptr<const Relation>& of,
            const std::vector<int32_t>& key_columns, const std::vector<int32_t>& flags)
      : queue_(queue), work_(make_column_work(queue, plan::memory_of(device))), derived_(of) {
    if (of->ready_event != nullptr) work_->await(of->ready_event);
    // Beside itself: codes tell values of one side apart only where it is the table's.
    std::shared_ptr<const Relation> other = of;
    columns::JoinSpec spec;
    spec.left_keys = spec.right_keys = key_columns;
    spec.key_flags = flags;
    make_comparable(queue, device, &derived_, &other, &spec);
    for (int32_t const key : spec.left_keys) {
      keys_.push_back(bring_column(queue, *work_, derived_->columns[static_cast<size_t>(key)],
                                   of->rows, &held_));
    }
    rows_ = static_cast<uint64_t>(of->rows);
    drop_nulls();
  }

  bool are_unique() {
    if (rows_ < 2) return true;
    keys::InternedSide const side = interned();
    keys::Interned made = work_->intern(side);
    if (made.are_rows) return true;
    codes_ = columns::make_storage(std::move(made.codes));
    auto const marks = make_row_marks(queue_, work_->memory(), static_cast<int64_t>(rows_));
    marks->mark(static_cast<const uint32_t*>(codes_.get()), rows_);
    return marks->count() == rows_;
  }

  // The lowest row whose key a row before it has, among those that count. Reads all codes to the
  // host: of a promise that is broken.
  template <typename Counts>
  std::optional<uint32_t> first_repeat(const Counts& counts) {
    std::vector<uint32_t> const codes = on_host(codes_);
    std::vector<uint32_t> const numbers =
        numbers_ == nullptr ? std::vector<uint32_t>() : on_host(numbers_);
    std::vector<bool> seen(rows_, false);
    for (uint64_t i = 0; i < rows_; ++i) {
      uint32_t const row = numbers.empty() ? static_cast<uint32_t>(i) : numbers[i];
      if (!counts(row)) continue;
      if (seen[codes[i]]) return row;
      seen[codes[i]] = true;
    }
    return std::nullopt;
  }

 private:
  std::vector<uint32_t> on_host(const Storage& numbers) {
    std::vector<uint32_t> read(rows_);
    base::copy(queue_, read.data(), Memory::kHost, numbers.get(), work_->memory(), rows_ * 4);
    if (is_device(work_->memory())) base::finish(queue_);
    return read;
  }

  void drop_nulls() {
    columns::RowBits valid;
    for (ColumnView const& key : keys_) {
      if (key.validity == nullptr) continue;
      columns::RowBits const bits{key.validity, key.validity_bit_offset, rows_};
      if (valid.bits == nullptr) {
        valid = bits;
        continue;
      }
      held_.push_back(work_->mask_rows(bits, valid));
      valid = {static_cast<const uint8_t*>(held_.back().get()), 0, rows_};
    }
    if (valid.bits == nullptr || rows_ == 0) return;
    columns::PickedCount counted = work_->count_picked(valid);
    valid.before = std::move(counted.before);
    uint64_t const count = counted.rows;
    std::vector<columns::PickedColumn> picked;
    for (ColumnView& key : keys_) {
      auto const width = static_cast<uint64_t>(key.width);
      held_.push_back(work_->allocate(base::checked_bytes(count, width), "keys of a promise"));
      void* const target = const_cast<void*>(held_.back().get());
      picked.push_back({key.data, target, key.width});
      key.data = target;
      key.validity = nullptr;
    }
    numbers_ = work_->allocate(base::checked_bytes(count, 4), "rows of a promise");
    work_->pick_rows(valid, count, picked,
                     static_cast<uint32_t*>(const_cast<void*>(numbers_.get())));
    rows_ = count;
  }

  // Of several columns 8 bytes each, one behind the other.
  keys::InternedSide interned() {
    keys::InternedSide side;
    side.rows = rows_;
    auto const* bytes = static_cast<const uint8_t*>(keys_.front().data);
    uint64_t width = static_cast<uint64_t>(keys_.front().width);
    if (keys_.size() > 1) {
      width = 8 * keys_.size();
      held_.push_back(work_->allocate(base::checked_bytes(rows_, width), "rows of a key"));
      auto* const target = static_cast<uint64_t*>(const_cast<void*>(held_.back().get()));
      for (size_t i = 0; i < keys_.size(); ++i) {
        kernels::DerivedKey step;
        step.source = keys_[i].data;
        step.width = keys_[i].width;
        step.op = kernels::KeyOp::kUnsigned;
        work_->derive(step, 8, rows_, keys_.size(), target + i);
      }
      bytes = reinterpret_cast<const uint8_t*>(target);
    }
    side.values.width = static_cast<int32_t>(width);
    side.values.bytes = side.values.first = bytes;
    side.values.end = bytes + rows_ * width;
    return side;
  }

  base::Queue& queue_;
  std::unique_ptr<ColumnWork> work_;
  std::shared_ptr<const Relation> derived_;
  Held held_;
  std::vector<ColumnView> keys_;
  uint64_t rows_ = 0;
  Storage numbers_;  // of the rows that are left; null: all are
  Storage codes_;
};

// Rows in which a key that compares as IEEE 754 has it is NaN: it is equal to nothing.
class NanRows {
 public:
  NanRows(base::Queue& queue, const Relation& relation, const std::vector<int32_t>& key_columns,
          const std::vector<int32_t>& flags) {
    auto const work = make_column_work(queue, Memory::kHost);
    for (size_t i = 0; i < flags.size(); ++i) {
      ColumnView const& column = relation.columns[static_cast<size_t>(key_columns[i])];
      ColumnView const& of = keys::values_of(column);
      if ((flags[i] & columns::kIeeeFloat) == 0 || !keys::is_float(of.type)) continue;
      columns_.push_back(std::make_unique<Column>());
      Column& made = *columns_.back();
      made.view = bring_column(queue, *work, column, relation.rows, &held_);
      made.positions = positions_in(*work, made.view, relation.rows);
      ColumnView const& values = keys::values_of(made.view);
      made.key.source = values.data;
      made.key.width = values.width;
      made.valid_rows = validity_of(made.view);
      made.valid_values = validity_of(values);
    }
  }
  bool has(uint32_t row) const {
    for (auto const& column : columns_) {
      auto const* const positions = static_cast<const uint32_t*>(column->positions.get());
      uint32_t const at = positions == nullptr ? row : positions[row];
      // What lies beneath a NULL is no value.
      if (at == GPUJOIN_NO_ROW || !is_valid(column->valid_rows, row)) continue;
      if (!is_valid(column->valid_values, at)) continue;
      uint64_t const magnitude =
          kernels::float_value<uint64_t>(column->key, at) & 0x7fffffffffffffffULL;
      if (magnitude > 0x7ff0000000000000ULL) return true;
    }
    return false;
  }

 private:
  struct Column {
    ColumnView view;
    Storage positions;
    kernels::DerivedKey key;
    kernels::ValidityBits valid_rows;
    kernels::ValidityBits valid_values;
  };
  std::vector<std::unique_ptr<Column>> columns_;
  Held held_;
};

void check_unique(base::Queue& queue, const PlannedJoin& join, bool left) {
  columns::JoinSpec const& spec = *join.promised;
  auto const& relation = left ? join.left : join.right;
  auto const row = first_repeat(queue, is_cuda(join.choice.plan().device), relation,
                                left ? spec.left_keys : spec.right_keys, spec.key_flags);
  if (row) fail_for_repeat(left, as_registered(queue, *relation, *row));
}

// Whether the plan first tries a table of all rows of the side, which no key may enter twice. Of
// keys that were derived, rows are left out that are equal to nothing; with nobody to ask it, there
// is no table.
bool finds_repeats(const PlannedJoin& join, bool left) {
  plan::JoinPlan const& plan = join.choice.plan();
  plan::SideStatistics const& probe = left ? join.request.right : join.request.left;
  bool const as_given = left ? join.spec.left_keys == join.promised->left_keys
                             : join.spec.right_keys == join.promised->right_keys;
  return plan.device == plan::Device::kCuda && plan::probes_table(plan.match) &&
         plan::writes_columns(plan.gather) && plan.filter == plan::Filter::kNone &&
         plan.transfer != plan::Transfer::kProbeChunks && plan.keys == plan::Keys::kPlain &&
         (plan.build_side == plan::Side::kLeft) == left && as_given && probe.rows != 0 &&
         !probe.key_nullable && !join.spec.asof && !join.grouped &&
         !columns::comes_alone(join.asked().kind);
}

}  // namespace

bool is_unique_promised(const columns::Bounds& bounds, bool left) {
  int32_t const promise = left ? GPUJOIN_PROMISE_LEFT_UNIQUE : GPUJOIN_PROMISE_RIGHT_UNIQUE;
  return (bounds.promises & promise) != 0;
}

bool is_sorted_promised(const columns::Bounds& bounds, bool left) {
  int32_t const promise = left ? GPUJOIN_PROMISE_LEFT_SORTED : GPUJOIN_PROMISE_RIGHT_SORTED;
  return (bounds.promises & promise) != 0;
}

bool is_on_gpu(const base::Context& context, const gpujoin_plan_options& options) {
  plan::PlanRequest request;
  request.options = options;
  return plan::device_of(request, context.facts) == plan::Device::kCuda;
}

keys::SortedFindings find_steps(base::Queue& queue, bool on_gpu, const Relation& relation,
                                const std::vector<int32_t>& key_columns, bool left) {
  plan::Device const device = device_of(on_gpu);
  keys::SortedFindings none;
  none.fill(UINT64_MAX);
  auto const work = make_column_work(queue, plan::memory_of(device));
  if (relation.ready_event != nullptr) work->await(relation.ready_event);
  std::vector<std::unique_ptr<SortedKey>> held;
  kernels::SortedColumns keys;
  for (size_t i = 0; i < key_columns.size(); ++i) {
    ColumnView const& column = relation.columns[static_cast<size_t>(key_columns[i])];
    if (column.layout == Layout::kNulls) continue;  // all rows are equal in it
    if (!have_order(column, column) && !has_bytes(keys::values_of(column))) {
      base::fail(GPUJOIN_ERROR_TYPE, "spec.promises: spec.%s_keys[%zu] has no order", name_of(left),
                 i);
    }
    if (relation.rows < 2) continue;
    held.push_back(std::make_unique<SortedKey>(queue, device, *work, relation, column));
    keys.columns[keys.count++] = held.back()->key;
  }
  if (relation.rows < 2 || keys.count == 0) return none;
  return work->find_steps(keys, static_cast<uint64_t>(relation.rows));
}

std::optional<uint32_t> first_repeat(base::Queue& queue, bool on_gpu,
                                     const std::shared_ptr<const Relation>& relation,
                                     const std::vector<int32_t>& key_columns,
                                     const std::vector<int32_t>& flags) {
  RowsByKey rows(queue, device_of(on_gpu), relation, key_columns, flags);
  if (rows.are_unique()) return std::nullopt;
  NanRows const nans(queue, *relation, key_columns, flags);
  return rows.first_repeat([&](uint32_t of) { return !nans.has(of); });
}

void fail_for_unsorted(bool left, int64_t row) {
  base::fail(
      GPUJOIN_ERROR_BROKEN_PROMISE,
      "spec.promises: the keys of %s are not sorted: row %lld does not follow the row before",
      name_of(left), static_cast<long long>(row));
}

void fail_for_repeat(bool left, int64_t row) {
  if (row < 0) {
    base::fail(GPUJOIN_ERROR_BROKEN_PROMISE,
               "spec.promises: the keys of %s are not unique: two rows have the same",
               name_of(left));
  }
  base::fail(GPUJOIN_ERROR_BROKEN_PROMISE,
             "spec.promises: the keys of %s are not unique: a row before row %lld has the same",
             name_of(left), static_cast<long long>(row));
}

void check_sorted(base::Queue& queue, plan::Device device, const PlannedJoin& join,
                  const columns::JoinSpec& spec) {
  for (bool const left : {true, false}) {
    if (!is_sorted_promised(spec.bounds, left)) continue;
    Relation const& relation = left ? *join.left : *join.right;
    auto const row = keys::first_unsorted(find_steps(
        queue, is_cuda(device), relation, left ? spec.left_keys : spec.right_keys, left));
    if (!row) continue;
    fail_for_unsorted(left, as_registered(queue, relation, static_cast<uint32_t>(*row)));
  }
}

void check_unique_when_planned(base::Queue& queue, const PlannedJoin& join) {
  for (bool const left : {true, false}) {
    if (is_unique_promised(join.promised->bounds, left) && !finds_repeats(join, left)) {
      check_unique(queue, join, left);
    }
  }
}

void check_promises(base::Queue& queue, const PlannedJoin& join,
                    const columns::JoinResult& result) {
  if (!join.promised) return;
  bool const is_first = result.statistics.plan == plan::to_text(join.choice.plan());
  for (bool const left : {true, false}) {
    if (is_unique_promised(join.promised->bounds, left) && finds_repeats(join, left) && !is_first) {
      check_unique(queue, join, left);
    }
  }
  if (!join.asked().caller_decides) check_promised_rows(join, result);
}

void check_promised_rows(const PlannedJoin& join, const columns::JoinResult& result) {
  if (!join.promised) return;
  columns::Bounds const& bounds = join.promised->bounds;
  if ((bounds.promises & GPUJOIN_PROMISE_ROWS) == 0 || result.rows <= bounds.promised_rows) return;
  base::fail(GPUJOIN_ERROR_BROKEN_PROMISE, "spec.promised_rows is %lld and the join has %lld rows",
             static_cast<long long>(bounds.promised_rows), static_cast<long long>(result.rows));
}

}  // namespace gpujoin::execute
