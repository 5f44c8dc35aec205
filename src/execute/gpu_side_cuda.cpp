#include "src/execute/gpu_side.hpp"

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
  bool const mixed = plan.transform == plan::Transform::kRadixOnesweep;
  prepared_ = transform::prepare_keys(context_, key_, relation_.rows, mixed);
}

void GpuSide::order(const plan::JoinPlan& plan, transform::KeyBits bits) {
  bits_ = bits;
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
  return transform::order_by_key(context_, prepared_, column, bits_);
}

void GpuSide::find_partitions(int32_t radix_bits) {
  offsets_ = transform::partition_offsets(context_, ordered_.keys.data(), key_.width,
                                          prepared_.rows, radix_bits);
}

match::MatchSide GpuSide::match_side(plan::Gather gather) const {
  match::MatchSide side;
  side.rows = prepared_.rows;
  bool const ordered = static_cast<bool>(ordered_.keys);
  side.keys = ordered ? ordered_.keys.data() : prepared_.keys;
  if (gather == plan::Gather::kUntransformed) {
    side.row_ids = ordered ? ordered_.values.as<uint32_t>() : prepared_.source_rows;
  }
  return side;
}

std::vector<columns::ResultColumn> GpuSide::empty_columns() const {
  std::vector<columns::ResultColumn> result;
  for (int32_t const index : output_columns_) {
    columns::ColumnView const& column = relation_.columns[static_cast<size_t>(index)];
    columns::ResultColumn target;
    target.name = column.name;
    target.arrow_format = column.arrow_format;
    target.type = column.type;
    target.width = column.width;
    result.push_back(std::move(target));
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

materialize::Source GpuSide::key_source(plan::Gather gather) const {
  materialize::Source source;
  source.width = key_.width;
  if (gather == plan::Gather::kUntransformed) {
    source.data = key_.data;
  } else {
    source.data = ordered_.keys.data();
    source.unmix = prepared_.mixed;
  }
  return source;
}

void transform_sides(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                     GpuSide& probe) {
  switch (plan.transform) {
    case plan::Transform::kNone:
      return;
    case plan::Transform::kRadixOnesweep:
      for (GpuSide* side : {&build, &probe}) {
        side->order(plan, {0, plan.radix_bits});
        side->find_partitions(plan.radix_bits);
      }
      return;
    case plan::Transform::kRadixSort: {
      transform::KeyBits const bits =
          transform::varying_bits(context, build.prepared(), probe.prepared());
      build.order(plan, bits);
      probe.order(plan, bits);
      return;
    }
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
  std::vector<materialize::Request> key_requests;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    bool const is_key = i < left_columns ? left.is_key(i) : right.is_key(i - left_columns);
    if (is_key) key_requests.push_back({probe.key_source(plan.gather), &result.columns[i]});
  }

  materialize::NullCounts null_counts(context, build.nullable_columns() + probe.nullable_columns());
  if (plan.gather == plan::Gather::kUntransformed) {
    std::vector<materialize::Request> build_requests;
    build.request_untransformed(build_targets, &build_requests);
    probe.request_untransformed(probe_targets, &key_requests);
    materialize::gather(context, pairs.build(), pairs.rows(), build_requests, null_counts);
    materialize::gather(context, pairs.probe(), pairs.rows(), key_requests, null_counts);
  } else {
    probe.gather_transformed(pairs.probe(), pairs.rows(), null_counts, probe_targets,
                             std::move(key_requests));
    build.gather_transformed(pairs.build(), pairs.rows(), null_counts, build_targets, {});
  }
  if (result.has_pairs && result.rows != 0) {
    bool const original = plan.gather == plan::Gather::kUntransformed;
    columns::Storage build_rows =
        original ? pairs.build_storage() : build.row_numbers(pairs.build(), pairs.rows());
    columns::Storage probe_rows =
        original ? pairs.probe_storage() : probe.row_numbers(pairs.probe(), pairs.rows());
    result.left_rows = build_left ? build_rows : probe_rows;
    result.right_rows = build_left ? probe_rows : build_rows;
  }
  null_counts.finish();
}

}  // namespace gpujoin::execute
