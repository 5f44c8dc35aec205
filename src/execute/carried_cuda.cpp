// carried_cuda.cpp: payloads on their way with their keys, to a match that writes them.
#include <algorithm>

#include "src/execute/gpu_side.hpp"

namespace gpujoin::execute {

void GpuSide::choose_carried(bool row_numbers, bool payloads, bool nullable) {
  carried_columns_.clear();
  carried_keys_ = is_hashed() && payloads;
  if (carried_keys_) carried_columns_.assign(keys_.size(), kKeyColumn);
  bool any_left = false;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || is_carried_key(i)) continue;
    bool const is_nullable = payloads_[i].validity != nullptr;
    bool const has_way = !is_nullable || (nullable && transform::has_stand_in(payloads_[i].width));
    // One place is kept for row numbers.
    if (!payloads || !has_way || carried_columns_.size() + 2 > kernels::kMovedColumns) {
      any_left = true;
      continue;
    }
    carried_columns_.push_back(i);
  }
  if (row_numbers || any_left) carried_columns_.push_back(kRowIds);
}

void GpuSide::prepare_to_carry(const plan::JoinPlan& plan) {
  // A filter by bits asks between which values keys lie: what lies beneath a NULL is anywhere.
  prepare(plan, plan.filter != plan::Filter::kKeyBits);
}

void GpuSide::find_stand_ins() {
  std::vector<const columns::DeviceColumn*> columns;
  std::vector<size_t> numbers;
  for (size_t const number : carried_columns_) {
    if (number == kRowIds || number == kKeyColumn) continue;
    columns::DeviceColumn const& column = payloads_[number];
    if (column.validity == nullptr || stand_ins_[number]) continue;
    await(column);
    columns.push_back(&column);
    numbers.push_back(number);
  }
  if (columns.empty()) return;
  auto const found = transform::find_stand_ins(queue_, columns, relation_.rows);
  for (size_t i = 0; i < numbers.size(); ++i) stand_ins_[numbers[i]] = found[i];
}

void GpuSide::carry(const plan::JoinPlan& plan, bool row_numbers) {
  prepare_to_carry(plan);
  order_ = {plan.transform, {0, plan.radix_bits}, plan::passes_of(plan)};
  choose_carried(row_numbers, plan.gather == plan::Gather::kCarried || moves_payloads_, true);
  find_stand_ins();
  std::vector<transform::PreparedColumn> columns;
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    if (carried_columns_[place] == kRowIds) {
      columns.push_back(transform::row_ids_to_order(queue_, prepared_, order_));
    } else {
      columns::DeviceColumn const& column = carried_column(place);
      await(column);
      bool const is_key_column = carried_columns_[place] == kKeyColumn;
      const transform::StandIn* const nulls =
          is_key_column ? nullptr : stand_in(carried_columns_[place]);
      columns.push_back(nulls == nullptr
                            ? transform::prepare_values(queue_, prepared_, column)
                            : transform::prepare_nullable(queue_, prepared_, column, nulls->value));
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
