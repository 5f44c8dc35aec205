#include "src/execute/gpu_side.hpp"

#include <algorithm>
#include <utility>

#include "src/base/device.hpp"
#include "src/keys/encode_keys.hpp"

namespace gpujoin::execute {

namespace {

const uint8_t* bytes_of(const base::Buffer& buffer) { return buffer.as<uint8_t>(); }

}  // namespace

GpuSide::GpuSide(base::Queue& queue, const columns::Relation& relation,
                 const std::vector<int32_t>& keys, const std::vector<int32_t>& output_columns,
                 const keys::KeyEncoding* encoding)
    : queue_(queue),
      relation_(relation),
      key_indices_(keys),
      output_columns_(output_columns),
      join_encoding_(encoding) {
  base::await(queue, relation.ready_event);
  payloads_.resize(output_columns.size());
  stand_ins_.resize(output_columns.size());
}

void GpuSide::start(const plan::JoinPlan& plan, bool moves_payloads) {
  encoding_ = plan.keys != plan::Keys::kPlain ? join_encoding_ : nullptr;
  moves_payloads_ = moves_payloads;
  first_moved_ = kRowIds;
  for (size_t i = 0; moves_payloads && i < payloads_.size() && first_moved_ == kRowIds; ++i) {
    if (!is_key(i)) first_moved_ = i;
  }
  if (!std::exchange(is_used_, true)) return;
  ordered_ = {};
  moved_ = {};
  carried_columns_.clear();
  carried_data_.clear();
  kept_in_place_.clear();
  kept_.clear();
  kept_row_ids_ = {};
}

void GpuSide::bring_transformed(transfer::Transport& transport) {
  transport_ = &transport;
  auto const& columns = relation_.columns;
  for (int32_t const key : key_indices_) {
    keys_.push_back(transport.bring(columns[static_cast<size_t>(key)], relation_.rows));
  }
  if (first_moved_ == kRowIds) return;
  auto const first = static_cast<size_t>(output_columns_[first_moved_]);
  payloads_[first_moved_] = transport.bring(columns[first], relation_.rows);
}

void GpuSide::bring_payloads(transfer::Transport& transport) {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (i == first_moved_) continue;
    if (size_t const key = key_number(i); key != kNoKey) {
      payloads_[i].width = keys_[key].width;
      payloads_[i].data = keys_[key].data;  // no row with a NULL in it is joined
      continue;
    }
    auto const column = static_cast<size_t>(output_columns_[i]);
    payloads_[i] = transport.bring(relation_.columns[column], relation_.rows);
  }
}

void GpuSide::await(const columns::DeviceColumn& column) const { transport_->await(column); }

void GpuSide::await_all() const {
  for (columns::DeviceColumn const& key : keys_) await(key);
  for (columns::DeviceColumn const& payload : payloads_) await(payload);
}

size_t GpuSide::key_number(size_t output_column) const {
  auto const found =
      std::find(key_indices_.begin(), key_indices_.end(), output_columns_[output_column]);
  if (found == key_indices_.end()) return kNoKey;
  return static_cast<size_t>(found - key_indices_.begin());
}

void GpuSide::prepare(const plan::JoinPlan& plan, bool in_place) {
  // The unordered partitioning mixes keys as it reads them.
  bool const mixed =
      plan::partitions(plan.transform) && plan.transform != plan::Transform::kRadixUnordered;
  // And packs them as it counts them, but that a filter reads codes before.
  bool const later = !is_hashed() && plan.transform == plan::Transform::kRadixUnordered &&
                     plan.filter == plan::Filter::kNone;
  bool const is_same = prepared_.mixed == mixed && prepared_encoding_ == encoding_ &&
                       (later || !prepared_.pending) &&
                       (in_place || prepared_.present.bits == nullptr);
  if (is_prepared_ && is_same) return;
  for (columns::DeviceColumn const& key : keys_) await(key);
  is_prepared_ = is_filtered_ = false;
  prepared_ = {};
  if (plan.match == plan::Match::kRowMultiset) {
    prepared_ = transform::prepare_key_rows(queue_, keys_, relation_.rows);
  } else if (in_place && (later || encoding_ == nullptr) &&
             (plan.transform == plan::Transform::kRadixUnordered ||
              plan.transform == plan::Transform::kWriteCombined ||
              plan.transform == plan::Transform::kNone)) {
    prepared_ = transform::prepare_in_place(queue_, keys_, relation_.rows, encoding_);
  } else if (encoding_ == nullptr) {
    prepared_ = transform::prepare_keys(queue_, keys_.front(), relation_.rows, mixed);
  } else if (later) {
    prepared_ = transform::encode_later(queue_, keys_, relation_.rows, *encoding_);
  } else {
    prepared_ = transform::encode_keys(queue_, keys_, relation_.rows, *encoding_, mixed);
  }
  prepared_encoding_ = encoding_;
  is_prepared_ = true;
}

void GpuSide::order(const plan::JoinPlan& plan, transform::KeyBits bits) {
  order_ = {plan.transform, bits, plan::passes_of(plan)};
  if (first_moved_ == kRowIds) {
    ordered_ = move(queue_, transform::row_ids_to_order(queue_, prepared_, order_));
    return;
  }
  await(payloads_[first_moved_]);
  ordered_ = move(queue_, transform::prepare_values(queue_, prepared_, payloads_[first_moved_]));
}

transform::Transformed GpuSide::move(base::Queue& queue,
                                     const transform::PreparedColumn& column) const {
  return transform::order_by_key(queue, prepared_, column, order_);
}

GpuSide::Moved GpuSide::move_payload(base::Queue& queue, size_t output_column) const {
  columns::DeviceColumn const& column = payloads_[output_column];
  await(column);
  Moved moved;
  if (output_column != first_moved_) {
    moved.values = move(queue, transform::prepare_values(queue, prepared_, column));
    moved.values.keys = {};
  }
  if (column.validity != nullptr) {
    moved.validity = move(queue, transform::prepare_validity(queue, prepared_, column));
    moved.validity.keys = {};
  }
  return moved;
}

transform::Transformed GpuSide::move_row_ids(base::Queue& queue) const {
  transform::Transformed moved = move(queue, transform::row_ids_to_order(queue, prepared_, order_));
  moved.keys = {};
  return moved;
}

void GpuSide::keep_moved(bool row_numbers) {
  if (row_numbers && first_moved_ != kRowIds) kept_row_ids_ = move_row_ids(queue_);
  kept_.resize(payloads_.size());
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    kept_[i] = move_payload(queue_, i);
    payloads_[i].data_copy = {};
    payloads_[i].validity_copy = {};
    queue_.check_cancelled();
  }
}

void GpuSide::find_partitions(int32_t radix_bits) {
  if (ordered_.offsets) return;
  ordered_.offsets = transform::partition_offsets(queue_, ordered_.keys.data(), key_width(),
                                                  prepared_.rows, radix_bits);
}

kernels::PartitionView GpuSide::partitions() const {
  kernels::PartitionView view{};
  view.offsets = ordered_.offsets.as<uint32_t>();
  view.buckets = ordered_.buckets.as<uint32_t>();
  view.bucket_offsets = ordered_.bucket_offsets.as<uint32_t>();
  view.bucket_bits = ordered_.bucket_bits;
  return view;
}

match::MatchSide GpuSide::match_side(bool by_position) const {
  match::MatchSide side;
  side.rows = prepared_.rows;
  bool const ordered = static_cast<bool>(ordered_.keys);
  side.keys = ordered ? ordered_.keys.data() : prepared_.keys;
  if (!by_position) {
    side.row_ids = ordered ? ordered_.values.as<uint32_t>() : prepared_.source_rows;
  }
  return side;
}

match::KeyRows GpuSide::key_rows() const { return {keys_, prepared_.rows, prepared_.source_rows}; }

std::vector<columns::ResultColumn> empty_columns(const columns::Relation& relation,
                                                 const std::vector<int32_t>& output_columns) {
  std::vector<columns::ResultColumn> result;
  for (int32_t const index : output_columns) {
    result.push_back(columns::column_like(relation.columns[static_cast<size_t>(index)]));
  }
  return result;
}

size_t GpuSide::nullable_columns() const {
  size_t count = 0;
  for (columns::DeviceColumn const& column : payloads_) count += column.validity != nullptr;
  return count;
}

materialize::Request GpuSide::request_untransformed(size_t output_column,
                                                    columns::ResultColumn* target) const {
  columns::DeviceColumn const& column = payloads_[output_column];
  await(column);
  materialize::Request request;
  request.source.data = column.data;
  request.source.width = column.width;
  request.source.validity_bits = column.validity;
  request.source.validity_bit_offset = column.validity_bit_offset;
  request.target = target;
  return request;
}

void GpuSide::request_untransformed(columns::ResultColumn* targets,
                                    std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (!is_key(i)) requests->push_back(request_untransformed(i, &targets[i]));
  }
}

void GpuSide::gather_transformed(base::Queue& queue, const uint32_t* positions, uint64_t pairs,
                                 materialize::NullCounts& null_counts,
                                 columns::ResultColumn* targets,
                                 std::vector<materialize::Request> requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    columns::DeviceColumn const& column = payloads_[i];
    Moved moved_now;
    if (kept_.empty()) moved_now = move_payload(queue, i);
    Moved const& moved = kept_.empty() ? moved_now : kept_[i];
    materialize::Request request;
    request.target = &targets[i];
    request.source.width = column.width;
    request.source.data = i == first_moved_ ? ordered_.values.data() : moved.values.values.data();
    if (column.validity != nullptr) {
      request.source.validity_bytes = bytes_of(moved.validity.values);
    }
    requests.push_back(request);
    materialize::gather(queue, positions, pairs, requests, null_counts);
    requests.clear();
    queue.check_cancelled();
  }
  materialize::gather(queue, positions, pairs, requests, null_counts);
}

columns::Storage GpuSide::row_numbers(base::Queue& queue, const uint32_t* positions,
                                      uint64_t pairs) const {
  transform::Transformed moved;
  const void* row_ids = ordered_.values.data();
  if (first_moved_ != kRowIds) {
    if (!kept_row_ids_.values) moved = move_row_ids(queue);
    row_ids = kept_row_ids_.values ? kept_row_ids_.values.data() : moved.values.data();
  }
  columns::ResultColumn numbers;
  materialize::NullCounts none(queue, 0);
  materialize::Request request;
  request.source.data = row_ids;
  request.source.width = sizeof(uint32_t);
  request.target = &numbers;
  materialize::gather(queue, positions, pairs, {request}, none);
  return numbers.data;
}

size_t GpuSide::count_key_outputs() const {
  size_t count = 0;
  for (size_t i = 0; i < output_columns_.size(); ++i) count += is_key(i) ? 1 : 0;
  return count;
}

materialize::Source GpuSide::key_source(bool by_position, size_t key_number) const {
  materialize::Source source;
  source.width = keys_[key_number].width;
  if (!by_position) {
    source.data = keys_[key_number].data;
  } else {
    source.data = ordered_.keys.data();
    source.unmix = plan::partitions(order_.technique);
  }
  return source;
}

columns::Storage GpuSide::decode_key(base::Queue& queue, size_t key_number,
                                     const uint32_t* positions, uint64_t pairs) const {
  return decoded_column(queue, *encoding_, key_number, ordered_.keys.data(), positions, pairs,
                        plan::partitions(order_.technique));
}

columns::Storage decoded_column(base::Queue& queue, const keys::KeyEncoding& encoding,
                                size_t key_number, const void* codes, const uint32_t* positions,
                                uint64_t count, bool mixed) {
  auto const width = static_cast<uint64_t>(encoding.fields[key_number].width);
  base::Buffer values = queue.device_pool->allocate(
      base::Memory::kDevice, base::checked_bytes(count, width), "a key column of the output");
  keys::decode(queue, encoding, key_number, codes, positions, count, mixed, values.data());
  return columns::make_storage(std::move(values));
}

void transform_side(const plan::JoinPlan& plan, transform::KeyBits bits, GpuSide& side) {
  side.prepare(plan);
  if (plan::partitions(plan.transform)) {
    side.order(plan, {0, plan.radix_bits});
    side.find_partitions(plan.radix_bits);
  } else if (plan::sorts(plan.transform)) {
    side.order(plan, bits);
  }
}

transform::KeyBits all_bits(const GpuSide& side) { return {0, 8 * side.key_width()}; }

size_t start_columns(const GpuSide& left, const GpuSide& right, columns::JoinResult& result) {
  result.columns = left.empty_columns();
  size_t const left_columns = result.columns.size();
  for (columns::ResultColumn& column : right.empty_columns()) {
    result.columns.push_back(std::move(column));
  }
  return left_columns;
}

}  // namespace gpujoin::execute
