// carried_cuda.cpp: payloads on their way with their keys, to a match that writes them.
#include <algorithm>

#include "src/execute/gpu_side.hpp"

namespace gpujoin::execute {

void GpuSide::carry(const plan::JoinPlan& plan, bool row_numbers) {
  prepare(plan);
  order_ = {plan.transform, {0, plan.radix_bits}, plan::passes_of(plan)};
  carried_columns_.clear();
  std::vector<transform::PreparedColumn> columns;
  bool any_left = false;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    // One place is kept for row numbers.
    if (payloads_[i].validity != nullptr || columns.size() + 1 == kernels::kMovedColumns) {
      any_left = true;
      continue;
    }
    await(payloads_[i]);
    columns.push_back(transform::prepare_values(context_, prepared_, payloads_[i]));
    carried_columns_.push_back(i);
  }
  if (row_numbers || any_left) {
    columns.push_back(transform::row_ids_to_order(context_, prepared_, order_));
    carried_columns_.push_back(kRowIds);
  }
  carried_ = transform::radix_unordered(context_, prepared_, columns, order_);
}

match::CarriedSide GpuSide::carried_side() const {
  return {carried_.keys.data(), carried_.offsets.as<uint32_t>(), prepared_.rows};
}

const void* GpuSide::carried(size_t output_column) const {
  auto const found = std::find(carried_columns_.begin(), carried_columns_.end(), output_column);
  if (found == carried_columns_.end()) return nullptr;
  return carried_.columns[static_cast<size_t>(found - carried_columns_.begin())].data();
}

const void* GpuSide::carried_row_numbers() const { return carried(kRowIds); }

void GpuSide::request_left(columns::ResultColumn* targets,
                           std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || carried(i) != nullptr) continue;
    requests->push_back(request_untransformed(i, &targets[i]));
  }
}

namespace {

using kernels::CarriedFrom;
using match::CarriedOutput;

void add_outputs(const GpuSide& side, CarriedFrom from, columns::ResultColumn* targets,
                 size_t count, columns::Storage* row_numbers, std::vector<CarriedOutput>* outputs) {
  for (size_t i = 0; i < count; ++i) {
    if (side.is_key(i)) {
      outputs->push_back({nullptr, side.key_width(), CarriedFrom::kKey, &targets[i].data});
    } else if (side.carried(i) != nullptr) {
      outputs->push_back({side.carried(i), targets[i].width, from, &targets[i].data});
    }
  }
  if (side.carried_row_numbers() == nullptr) return;
  outputs->push_back({side.carried_row_numbers(), sizeof(uint32_t), from, row_numbers});
}

}  // namespace

void write_carried(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                   GpuSide& probe, bool build_left, columns::JoinResult& result) {
  GpuSide& left = build_left ? build : probe;
  GpuSide& right = build_left ? probe : build;
  size_t const left_columns = start_columns(left, right, result);
  columns::ResultColumn* const left_targets = result.columns.data();
  columns::ResultColumn* const right_targets = left_targets + left_columns;
  size_t const right_columns = result.columns.size() - left_columns;

  columns::Storage left_rows;
  columns::Storage right_rows;
  std::vector<CarriedOutput> outputs;
  CarriedFrom const from_left = build_left ? CarriedFrom::kBuild : CarriedFrom::kProbe;
  CarriedFrom const from_right = build_left ? CarriedFrom::kProbe : CarriedFrom::kBuild;
  add_outputs(left, from_left, left_targets, left_columns, &left_rows, &outputs);
  add_outputs(right, from_right, right_targets, right_columns, &right_rows, &outputs);
  match::CarriedRows const written = match::carried_columns(
      context, plan, build.key_width(), build.carried_side(), probe.carried_side(), outputs);
  result.rows = static_cast<int64_t>(written.rows);
  result.statistics.output_resumes = std::max(written.launches - 1, 0);

  materialize::NullCounts null_counts(context, left.nullable_columns() + right.nullable_columns());
  auto const fetch_left = [&](const GpuSide& side, columns::ResultColumn* targets,
                              const columns::Storage& row_numbers) {
    std::vector<materialize::Request> requests;
    side.request_left(targets, &requests);
    if (requests.empty()) return;
    materialize::gather(context, static_cast<const uint32_t*>(row_numbers.get()), written.rows,
                        requests, null_counts);
  };
  fetch_left(left, left_targets, left_rows);
  fetch_left(right, right_targets, right_rows);
  if (result.has_left_rows()) result.left_rows = left_rows;
  if (result.has_right_rows()) result.right_rows = right_rows;
  null_counts.finish();
}

}  // namespace gpujoin::execute
