#include "src/execute/gpu_side.hpp"

#include <algorithm>
#include <utility>

#include "src/base/device.hpp"

namespace gpujoin::execute {

namespace {

const uint8_t* bytes_of(const base::Buffer& buffer) { return buffer.as<uint8_t>(); }

}  // namespace

GpuSide::GpuSide(base::Context& context, const columns::Relation& relation,
                 const std::vector<int32_t>& keys, const std::vector<int32_t>& output_columns,
                 bool moves_payloads)
    : context_(context),
      relation_(relation),
      key_indices_(keys),
      output_columns_(output_columns),
      moves_payloads_(moves_payloads) {
  base::await(context, relation.ready_event);
  payloads_.resize(output_columns.size());
}

void GpuSide::bring_transformed(transfer::Transport& transport) {
  transport_ = &transport;
  auto const& columns = relation_.columns;
  for (int32_t const key : key_indices_) {
    keys_.push_back(transport.bring(columns[static_cast<size_t>(key)], relation_.rows));
  }
  first_moved_ = kRowIds;
  if (!moves_payloads_) return;
  for (size_t i = 0; i < payloads_.size() && first_moved_ == kRowIds; ++i) {
    if (is_key(i)) continue;
    first_moved_ = i;
    payloads_[i] =
        transport.bring(columns[static_cast<size_t>(output_columns_[i])], relation_.rows);
  }
}

void GpuSide::bring_payloads(transfer::Transport& transport) {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || i == first_moved_) continue;
    auto const column = static_cast<size_t>(output_columns_[i]);
    payloads_[i] = transport.bring(relation_.columns[column], relation_.rows);
  }
}

void GpuSide::await(const columns::DeviceColumn& column) const { transport_->await(column); }

size_t GpuSide::key_number(size_t output_column) const {
  auto const found =
      std::find(key_indices_.begin(), key_indices_.end(), output_columns_[output_column]);
  if (found == key_indices_.end()) return kNoKey;
  return static_cast<size_t>(found - key_indices_.begin());
}

void GpuSide::prepare(const plan::JoinPlan& plan) {
  for (columns::DeviceColumn const& key : keys_) await(key);
  is_prepared_ = true;
  if (plan.match == plan::Match::kRowMultiset) {
    prepared_ = transform::prepare_key_rows(context_, keys_, relation_.rows);
    return;
  }
  // The unordered partitioning mixes keys as it reads them.
  bool const mixed =
      plan::partitions(plan.transform) && plan.transform != plan::Transform::kRadixUnordered;
  prepared_ = transform::prepare_keys(context_, keys_.front(), relation_.rows, mixed);
}

void GpuSide::order(const plan::JoinPlan& plan, transform::KeyBits bits) {
  order_ = {plan.transform, bits, plan::passes_of(plan)};
  if (first_moved_ == kRowIds) {
    ordered_ = move(transform::row_ids_to_order(context_, prepared_, order_));
    return;
  }
  await(payloads_[first_moved_]);
  ordered_ = move(transform::prepare_values(context_, prepared_, payloads_[first_moved_]));
}

transform::Transformed GpuSide::move(const transform::PreparedColumn& column) const {
  return transform::order_by_key(context_, prepared_, column, order_);
}

GpuSide::Moved GpuSide::move_payload(size_t output_column) const {
  columns::DeviceColumn const& column = payloads_[output_column];
  await(column);
  Moved moved;
  if (output_column != first_moved_) {
    moved.values = move(transform::prepare_values(context_, prepared_, column));
    moved.values.keys = {};
  }
  if (column.validity != nullptr) {
    moved.validity = move(transform::prepare_validity(context_, prepared_, column));
    moved.validity.keys = {};
  }
  return moved;
}

transform::Transformed GpuSide::move_row_ids() const {
  transform::Transformed moved = move(transform::row_ids_to_order(context_, prepared_, order_));
  moved.keys = {};
  return moved;
}

void GpuSide::keep_moved(bool row_numbers) {
  if (row_numbers && first_moved_ != kRowIds) kept_row_ids_ = move_row_ids();
  kept_.resize(payloads_.size());
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    kept_[i] = move_payload(i);
    payloads_[i].data_copy = {};
    payloads_[i].validity_copy = {};
    context_.check_cancelled();
  }
}

void GpuSide::find_partitions(int32_t radix_bits) {
  if (ordered_.offsets) return;
  ordered_.offsets = transform::partition_offsets(context_, ordered_.keys.data(), key_width(),
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

void GpuSide::gather_transformed(const uint32_t* positions, uint64_t pairs,
                                 materialize::NullCounts& null_counts,
                                 columns::ResultColumn* targets,
                                 std::vector<materialize::Request> requests) {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    columns::DeviceColumn const& column = payloads_[i];
    Moved moved_now;
    if (kept_.empty()) moved_now = move_payload(i);
    Moved const& moved = kept_.empty() ? moved_now : kept_[i];
    materialize::Request request;
    request.target = &targets[i];
    request.source.width = column.width;
    request.source.data = i == first_moved_ ? ordered_.values.data() : moved.values.values.data();
    if (column.validity != nullptr) {
      request.source.validity_bytes = bytes_of(moved.validity.values);
    }
    requests.push_back(request);
    materialize::gather(context_, positions, pairs, requests, null_counts);
    requests.clear();
    context_.check_cancelled();
  }
  materialize::gather(context_, positions, pairs, requests, null_counts);
}

columns::Storage GpuSide::row_numbers(const uint32_t* positions, uint64_t pairs) {
  transform::Transformed moved;
  const void* row_ids = ordered_.values.data();
  if (first_moved_ != kRowIds) {
    if (!kept_row_ids_.values) moved = move_row_ids();
    row_ids = kept_row_ids_.values ? kept_row_ids_.values.data() : moved.values.data();
  }
  columns::ResultColumn numbers;
  materialize::NullCounts none(context_, 0);
  materialize::Request request;
  request.source.data = row_ids;
  request.source.width = sizeof(uint32_t);
  request.target = &numbers;
  materialize::gather(context_, positions, pairs, {request}, none);
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

bool matches_by_position(const plan::JoinPlan& plan, const GpuSide& build, const GpuSide& probe) {
  if (plan.transform == plan::Transform::kNone) return false;
  if (build.moves_payloads() || probe.moves_payloads()) return true;
  // With many pairs a row the unclustered read finds the row's key in cache, and the detour costs
  // more than it saves (many-72Mx72M on an H200: 27.7 ms without, 33.6 ms with).
  bool const few_pairs = plan.expected_rows <= 2 * int64_t{probe.prepared().rows};
  return few_pairs && (build.has_key_output() || probe.has_key_output());
}

void transform_side(const plan::JoinPlan& plan, transform::KeyBits bits, GpuSide& side) {
  if (!side.is_prepared()) side.prepare(plan);
  if (plan::partitions(plan.transform)) {
    side.order(plan, {0, plan.radix_bits});
    side.find_partitions(plan.radix_bits);
  } else if (plan::sorts(plan.transform)) {
    side.order(plan, bits);
  }
}

transform::KeyBits all_bits(const GpuSide& side) { return {0, 8 * side.key_width()}; }

void transform_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                     GpuSide& probe) {
  transform::KeyBits bits = all_bits(build);
  // Looking which bits vary would hold the build side's sort until the probe side's keys are here,
  // or read both over the link: a pass too many costs less. A sort that compares has no use for
  // them.
  bool const looks = plan.transform != plan::Transform::kMergeSort &&
                     plan.transfer != plan::Transfer::kOverlappedCopies &&
                     plan.transfer != plan::Transfer::kZeroCopy;
  if (plan::sorts(plan.transform) && looks) {
    build.prepare(plan);
    probe.prepare(plan);
    bits = transform::varying_bits(context, build.prepared(), probe.prepared());
  }
  transform_side(plan, bits, build);
  // Without a transform the probe side is prepared by the match, after the build side's table.
  if (plan.transform != plan::Transform::kNone) transform_side(plan, bits, probe);
}

void match_sides(base::Context& context, const plan::JoinPlan& plan, const GpuSide& build,
                 GpuSide& probe, BuiltTable* table, output::GrowingPairs& pairs) {
  BuiltTable own;
  BuiltTable& built = table != nullptr ? *table : own;
  int32_t const key_width = build.key_width();
  bool const by_position = matches_by_position(plan, build, probe);
  match::MatchSide const build_keys = build.match_side(by_position);
  // The build side's table comes first: the probe side's keys may still be on their way.
  bool const by_table =
      plan.match == plan::Match::kGlobalTable || plan.match == plan::Match::kDirectTable;
  if (by_table && built.global_table == nullptr) {
    built.global_table = std::make_unique<match::GlobalTable>(context, key_width, build_keys);
  }
  if (plan.match == plan::Match::kRowMultiset && built.row_multiset == nullptr) {
    built.row_multiset = std::make_unique<match::RowMultiset>(context, build.key_rows());
  }
  if (!probe.is_prepared()) probe.prepare(plan);
  match::MatchSide const probe_keys = probe.match_side(by_position);
  switch (plan.match) {
    case plan::Match::kGlobalTable:
    case plan::Match::kDirectTable:
      built.global_table->probe(probe_keys, pairs);
      break;
    case plan::Match::kRowMultiset:
      built.row_multiset->probe(plan.output, probe.key_rows(), pairs);
      break;
    case plan::Match::kCoPartitions:
    case plan::Match::kNestedLoop:
      match::co_partitions(context, plan, key_width, build_keys, build.partitions(), probe_keys,
                           probe.partitions(), pairs);
      break;
    case plan::Match::kMergePath:
    case plan::Match::kMergeTwoBounds:
    case plan::Match::kMergeOneBound:
      match::merge_path(context, plan, key_width, build_keys, probe_keys, pairs);
      break;
  }
  pairs.finish();
}

size_t start_columns(const GpuSide& left, const GpuSide& right, columns::JoinResult& result) {
  result.columns = left.empty_columns();
  size_t const left_columns = result.columns.size();
  for (columns::ResultColumn& column : right.empty_columns()) {
    result.columns.push_back(std::move(column));
  }
  return left_columns;
}

void materialize_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                       GpuSide& probe, output::GrowingPairs& pairs, bool build_left,
                       columns::JoinResult& result) {
  GpuSide& left = build_left ? build : probe;
  GpuSide& right = build_left ? probe : build;
  size_t const left_columns = start_columns(left, right, result);
  columns::ResultColumn* left_targets = result.columns.data();
  columns::ResultColumn* right_targets = left_targets + left_columns;
  columns::ResultColumn* build_targets = build_left ? left_targets : right_targets;
  columns::ResultColumn* probe_targets = build_left ? right_targets : left_targets;

  // Matching keys are equal, so every key column of the output comes from the probe side, whose
  // rows lie closer together.
  bool const by_position = matches_by_position(plan, build, probe);
  std::vector<materialize::Request> key_requests;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    size_t const key = i < left_columns ? left.key_number(i) : right.key_number(i - left_columns);
    if (key == GpuSide::kNoKey) continue;
    key_requests.push_back({probe.key_source(by_position, key), &result.columns[i]});
  }

  uint64_t const rows = pairs.rows();
  materialize::NullCounts null_counts(context, build.nullable_columns() + probe.nullable_columns());
  if (by_position) {
    if (probe.moves_payloads()) {
      probe.gather_transformed(pairs.probe(), rows, null_counts, probe_targets,
                               std::move(key_requests));
    } else {
      materialize::gather(context, pairs.probe(), rows, key_requests, null_counts);
    }
    key_requests.clear();
    if (build.moves_payloads()) {
      build.gather_transformed(pairs.build(), rows, null_counts, build_targets, {});
    }
  }
  columns::Storage build_rows = pairs.build_storage();
  columns::Storage probe_rows = pairs.probe_storage();
  bool const want_left = result.has_left_rows();
  bool const want_right = result.has_right_rows();
  if (by_position) {
    bool const want_build = build_left ? want_left : want_right;
    bool const want_probe = build_left ? want_right : want_left;
    bool const fetch_build = build.has_payloads() && !build.moves_payloads();
    bool const fetch_probe = probe.has_payloads() && !probe.moves_payloads();
    if (want_build || fetch_build) build_rows = build.row_numbers(pairs.build(), rows);
    if (want_probe || fetch_probe) probe_rows = probe.row_numbers(pairs.probe(), rows);
  }
  std::vector<materialize::Request> build_requests;
  if (!build.moves_payloads()) build.request_untransformed(build_targets, &build_requests);
  if (!probe.moves_payloads()) probe.request_untransformed(probe_targets, &key_requests);
  auto const numbers = [](const columns::Storage& storage) {
    return static_cast<const uint32_t*>(storage.get());
  };
  materialize::gather(context, numbers(build_rows), rows, build_requests, null_counts);
  materialize::gather(context, numbers(probe_rows), rows, key_requests, null_counts);
  if (want_left && rows != 0) result.left_rows = build_left ? build_rows : probe_rows;
  if (want_right && rows != 0) result.right_rows = build_left ? probe_rows : build_rows;
  null_counts.finish();
}

}  // namespace gpujoin::execute
