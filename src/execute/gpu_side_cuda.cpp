#include "src/execute/gpu_side.hpp"

#include <algorithm>
#include <utility>

#include "src/base/device.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::execute {

namespace {

const uint8_t* bytes_of(const base::Buffer& buffer) { return buffer.as<uint8_t>(); }

}  // namespace

GpuSide::GpuSide(base::Context& context, const columns::Relation& relation, int32_t key,
                 const std::vector<int32_t>& output_columns)
    : context_(context), relation_(relation), key_index_(key), output_columns_(output_columns) {
  base::await(context, relation.ready_event);
  auto const& columns = relation.columns;
  key_ = transfer::to_device(context, columns[static_cast<size_t>(key)], relation.rows);
  payloads_.resize(output_columns.size());
  for (size_t i = 0; i < output_columns.size(); ++i) {
    if (is_key(i)) continue;
    auto const column = static_cast<size_t>(output_columns[i]);
    payloads_[i] = transfer::to_device(context, columns[column], relation.rows);
  }
}

void GpuSide::prepare(const plan::JoinPlan& plan) {
  bool const mixed = plan::partitions(plan.transform);
  prepared_ = transform::prepare_keys(context_, key_, relation_.rows, mixed);
}

void GpuSide::order(const plan::JoinPlan& plan, transform::KeyBits bits) {
  order_ = {plan.transform, bits, plan::passes_of(plan)};
  first_moved_ = kRowIds;
  if (plan.gather == plan::Gather::kTransformed) {
    for (size_t i = 0; i < payloads_.size() && first_moved_ == kRowIds; ++i) {
      if (!is_key(i)) first_moved_ = i;
    }
  }
  ordered_ = move(first_moved_ == kRowIds
                      ? transform::prepare_row_ids(context_, prepared_)
                      : transform::prepare_values(context_, prepared_, payloads_[first_moved_]));
}

transform::Transformed GpuSide::move(const transform::PreparedColumn& column) const {
  return transform::order_by_key(context_, prepared_, column, order_);
}

void GpuSide::find_partitions(int32_t radix_bits) {
  if (ordered_.offsets) return;
  ordered_.offsets = transform::partition_offsets(context_, ordered_.keys.data(), key_.width,
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

std::vector<columns::ResultColumn> GpuSide::empty_columns() const {
  std::vector<columns::ResultColumn> result;
  for (int32_t const index : output_columns_) {
    result.push_back(columns::column_like(relation_.columns[static_cast<size_t>(index)]));
  }
  return result;
}

size_t GpuSide::nullable_columns() const {
  size_t count = 0;
  for (columns::DeviceColumn const& column : payloads_) count += column.validity != nullptr;
  return count;
}

void GpuSide::request_untransformed(columns::ResultColumn* targets,
                                    std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    columns::DeviceColumn const& column = payloads_[i];
    materialize::Request request;
    request.source.data = column.data;
    request.source.width = column.width;
    request.source.validity_bits = column.validity;
    request.source.validity_bit_offset = column.validity_bit_offset;
    request.target = &targets[i];
    requests->push_back(request);
  }
}

void GpuSide::gather_transformed(const uint32_t* positions, uint64_t pairs,
                                 materialize::NullCounts& null_counts,
                                 columns::ResultColumn* targets,
                                 std::vector<materialize::Request> requests) {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    columns::DeviceColumn const& column = payloads_[i];
    transform::Transformed moved;
    transform::Transformed moved_validity;
    materialize::Request request;
    request.target = &targets[i];
    request.source.width = column.width;
    if (i == first_moved_) {
      request.source.data = ordered_.values.data();
    } else {
      moved = move(transform::prepare_values(context_, prepared_, column));
      moved.keys = {};
      request.source.data = moved.values.data();
    }
    if (column.validity != nullptr) {
      moved_validity = move(transform::prepare_validity(context_, prepared_, column));
      moved_validity.keys = {};
      request.source.validity_bytes = bytes_of(moved_validity.values);
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
    moved = move(transform::prepare_row_ids(context_, prepared_));
    row_ids = moved.values.data();
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

bool GpuSide::has_key_output() const {
  return std::find(output_columns_.begin(), output_columns_.end(), key_index_) !=
         output_columns_.end();
}

materialize::Source GpuSide::key_source(bool by_position) const {
  materialize::Source source;
  source.width = key_.width;
  if (!by_position) {
    source.data = key_.data;
  } else {
    source.data = ordered_.keys.data();
    source.unmix = prepared_.mixed;
  }
  return source;
}

bool matches_by_position(const plan::JoinPlan& plan, const GpuSide& build, const GpuSide& probe) {
  if (plan.gather == plan::Gather::kTransformed) return true;
  if (plan.transform == plan::Transform::kNone) return false;
  // With many pairs a row the unclustered read finds the row's key in cache, and the detour costs more than it saves
  // (many-72Mx72M on an H200: 27.7 ms without, 33.6 ms with).
  bool const few_pairs = plan.expected_rows <= 2 * int64_t{probe.prepared().rows};
  return few_pairs && (build.has_key_output() || probe.has_key_output());
}

void transform_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                     GpuSide& probe) {
  if (plan::partitions(plan.transform)) {
    for (GpuSide* side : {&build, &probe}) {
      side->order(plan, {0, plan.radix_bits});
      side->find_partitions(plan.radix_bits);
    }
  } else if (plan::sorts(plan.transform)) {
    transform::KeyBits const bits =
        transform::varying_bits(context, build.prepared(), probe.prepared());
    build.order(plan, bits);
    probe.order(plan, bits);
  }
}

void materialize_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                       GpuSide& probe, output::GrowingPairs& pairs, bool build_left,
                       columns::JoinResult& result) {
  GpuSide& left = build_left ? build : probe;
  GpuSide& right = build_left ? probe : build;
  result.columns = left.empty_columns();
  size_t const left_columns = result.columns.size();
  for (columns::ResultColumn& column : right.empty_columns()) {
    result.columns.push_back(std::move(column));
  }
  columns::ResultColumn* left_targets = result.columns.data();
  columns::ResultColumn* right_targets = left_targets + left_columns;
  columns::ResultColumn* build_targets = build_left ? left_targets : right_targets;
  columns::ResultColumn* probe_targets = build_left ? right_targets : left_targets;

  // Matching keys are equal, so every key column of the output comes from the probe side, whose rows lie closer together.
  bool const by_position = matches_by_position(plan, build, probe);
  std::vector<materialize::Request> key_requests;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    bool const is_key = i < left_columns ? left.is_key(i) : right.is_key(i - left_columns);
    if (is_key) key_requests.push_back({probe.key_source(by_position), &result.columns[i]});
  }

  uint64_t const rows = pairs.rows();
  materialize::NullCounts null_counts(context, build.nullable_columns() + probe.nullable_columns());
  bool const transformed = plan.gather == plan::Gather::kTransformed;
  if (transformed) {
    probe.gather_transformed(pairs.probe(), rows, null_counts, probe_targets,
                             std::move(key_requests));
    build.gather_transformed(pairs.build(), rows, null_counts, build_targets, {});
  } else if (by_position) {
    materialize::gather(context, pairs.probe(), rows, key_requests, null_counts);
    key_requests.clear();
  }
  columns::Storage build_rows = pairs.build_storage();
  columns::Storage probe_rows = pairs.probe_storage();
  bool const want_left = result.has_pairs && result.pair_sides != columns::PairSides::kRight;
  bool const want_right = result.has_pairs && result.pair_sides != columns::PairSides::kLeft;
  if (by_position) {
    bool const want_build = build_left ? want_left : want_right;
    bool const want_probe = build_left ? want_right : want_left;
    if (want_build || !transformed) build_rows = build.row_numbers(pairs.build(), rows);
    if (want_probe || !transformed) probe_rows = probe.row_numbers(pairs.probe(), rows);
  }
  if (!transformed) {
    std::vector<materialize::Request> build_requests;
    build.request_untransformed(build_targets, &build_requests);
    probe.request_untransformed(probe_targets, &key_requests);
    auto const numbers = [](const columns::Storage& storage) {
      return static_cast<const uint32_t*>(storage.get());
    };
    materialize::gather(context, numbers(build_rows), rows, build_requests, null_counts);
    materialize::gather(context, numbers(probe_rows), rows, key_requests, null_counts);
  }
  if (want_left && rows != 0) result.left_rows = build_left ? build_rows : probe_rows;
  if (want_right && rows != 0) result.right_rows = build_left ? probe_rows : build_rows;
  null_counts.finish();
}

}  // namespace gpujoin::execute
