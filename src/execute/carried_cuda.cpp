// carried_cuda.cpp: payloads on their way with their keys, to a match that writes them.
#include <algorithm>

#include "src/execute/gpu_side.hpp"

namespace gpujoin::execute {

void GpuSide::choose_carried(bool row_numbers, bool payloads, bool validity) {
  carried_columns_.clear();
  carried_keys_ = is_hashed() && payloads;
  if (carried_keys_) carried_columns_.assign(keys_.size(), kKeyColumn);
  bool any_left = false;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || is_carried_key(i)) continue;
    bool const has_nulls = payloads_[i].validity != nullptr;
    // One place is kept for row numbers.
    size_t const places = carried_columns_.size() + (has_nulls ? 3 : 2);
    if (!payloads || (has_nulls && !validity) || places > kernels::kMovedColumns) {
      any_left = true;
      continue;
    }
    carried_columns_.push_back(i);
    if (has_nulls) carried_columns_.push_back(validity_of(i));
  }
  if (row_numbers || any_left) carried_columns_.push_back(kRowIds);
}

void GpuSide::prepare_to_carry(const plan::JoinPlan& plan) {
  // A filter by bits asks between which values keys lie: what lies beneath a NULL is anywhere.
  prepare(plan, plan.filter != plan::Filter::kKeyBits);
}

void GpuSide::carry(const plan::JoinPlan& plan, bool row_numbers) {
  prepare_to_carry(plan);
  order_ = {plan.transform, {0, plan.radix_bits}, plan::passes_of(plan)};
  choose_carried(row_numbers, plan.gather == plan::Gather::kCarried || moves_payloads_, true);
  std::vector<transform::PreparedColumn> columns;
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    if (carried_columns_[place] == kRowIds) {
      columns.push_back(transform::row_ids_to_order(queue_, prepared_, order_));
    } else if (is_validity(carried_columns_[place])) {
      size_t const of = carried_columns_[place] - kFirstValidity;
      columns.push_back(transform::prepare_validity(queue_, prepared_, payloads_[of]));
    } else {
      await(carried_column(place));
      columns.push_back(transform::prepare_values(queue_, prepared_, carried_column(place)));
    }
  }
  moved_ = transform::radix_unordered(queue_, prepared_, columns, order_);
  carried_data_.clear();
  for (base::Buffer const& column : moved_.columns) carried_data_.push_back(column.data());
}

void GpuSide::carry_in_place(bool row_numbers) {
  choose_carried(row_numbers, true, false);
  kept_in_place_.clear();
  carried_data_.clear();
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    if (carried_columns_[place] == kRowIds) {
      carried_data_.push_back(prepared_.source_rows);
      continue;
    }
    await(carried_column(place));
    kept_in_place_.push_back(transform::prepare_values(queue_, prepared_, carried_column(place)));
    carried_data_.push_back(kept_in_place_.back().data);
  }
}

match::CarriedSide GpuSide::carried_side() const {
  return {moved_.keys.data(), moved_.offsets.as<uint32_t>(), prepared_.rows};
}

match::TableSide GpuSide::table_side() const { return {prepared_.keys, prepared_.rows}; }

std::vector<match::TableColumn> GpuSide::table_columns() const {
  std::vector<match::TableColumn> columns;
  for (size_t i = 0; i < carried_columns_.size(); ++i) {
    bool const is_row_id = carried_columns_[i] == kRowIds;
    int32_t const width =
        is_row_id ? static_cast<int32_t>(sizeof(uint32_t)) : carried_column(i).width;
    columns.push_back({carried_data_[i], width});
  }
  return columns;
}

// expected: no row number.
const columns::DeviceColumn& GpuSide::carried_column(size_t place) const {
  bool const is_key_column = carried_columns_[place] == kKeyColumn;
  return is_key_column ? keys_[place] : payloads_[carried_columns_[place]];
}

const void* const* GpuSide::carried(size_t output_column) const {
  auto const found = std::find(carried_columns_.begin(), carried_columns_.end(), output_column);
  if (found == carried_columns_.end()) return nullptr;
  return &carried_data_[static_cast<size_t>(found - carried_columns_.begin())];
}

void GpuSide::request_left(columns::ResultColumn* targets,
                           std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || carries(i) || is_carried_key(i)) continue;
    requests->push_back(request_untransformed(i, &targets[i]));
  }
}

}  // namespace gpujoin::execute
