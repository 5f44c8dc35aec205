// carried_cuda.cpp: payloads on their way with their keys, to a match that writes them.
#include <algorithm>

#include "src/base/device.hpp"
#include "src/execute/gpu_side.hpp"
#include "src/plan/word_rule.hpp"

namespace gpujoin::execute {

void GpuSide::choose_words(plan::AloneInWord alone) {
  std::vector<size_t> plain;
  std::vector<int32_t> widths;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || is_carried_key(i) || payloads_[i].validity != nullptr) continue;
    plain.push_back(i);
    widths.push_back(payloads_[i].width);
  }
  for (std::vector<size_t>& word : plan::words_of(widths, alone)) {
    // One place is kept for row numbers.
    if (carried_columns_.size() + 2 > kernels::kMovedColumns) return;
    for (size_t& column : word) column = plain[column];
    carried_columns_.push_back(kWord);
    words_.push_back({std::move(word), carried_columns_.size() - 1});
  }
}

void GpuSide::choose_carried(bool row_numbers, bool payloads, bool nullable,
                             std::optional<plan::AloneInWord> packs) {
  carried_columns_.clear();
  words_.clear();
  carried_keys_ = is_hashed() && payloads;
  if (carried_keys_) carried_columns_.assign(keys_.size(), kKeyColumn);
  if (packs && payloads) choose_words(*packs);
  bool any_left = false;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || is_carried_key(i) || is_in_word(i)) continue;
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

std::vector<size_t> GpuSide::draw_stand_ins() {
  std::vector<size_t> nullable;
  for (size_t const number : carried_columns_) {
    bool const is_payload = number != kRowIds && number != kKeyColumn && number != kWord;
    if (!is_payload || payloads_[number].validity == nullptr) continue;
    if (!stand_ins_[number]) stand_ins_[number] = {transform::draw_stand_in(queue_)};
    if (stand_in(number) != nullptr) nullable.push_back(number);
  }
  return nullable;
}

bool GpuSide::are_taken(const std::vector<size_t>& nullable, const uint32_t* seen) {
  std::vector<transform::SeenNulls> const answer =
      transform::seen_nulls(queue_, seen, nullable.size());
  std::vector<const columns::DeviceColumn*> columns;
  std::vector<size_t> taken;
  for (size_t i = 0; i < nullable.size(); ++i) {
    stand_ins_[nullable[i]]->has_nulls = answer[i].any;
    if (!answer[i].stand_in_is_taken) continue;
    columns.push_back(&payloads_[nullable[i]]);
    taken.push_back(nullable[i]);
  }
  if (taken.empty()) return false;
  std::vector<uint64_t> const found = transform::find_stand_ins(queue_, columns, relation_.rows);
  for (size_t i = 0; i < taken.size(); ++i) stand_ins_[taken[i]]->value = found[i];
  return true;
}

transform::PreparedColumn GpuSide::prepare_word(const CarriedWord& word) const {
  transform::PreparedColumn column;
  column.width = kernels::kWordBytes;
  for (size_t const part : word.output_columns) {
    await(payloads_[part]);
    column.parts.push_back(transform::prepare_values(queue_, prepared_, payloads_[part]));
  }
  return column;
}

void GpuSide::move_carried(uint32_t* seen) {
  moved_ = {};
  auto word = words_.begin();
  std::vector<transform::PreparedColumn> columns;
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    size_t const number = carried_columns_[place];
    if (number == kRowIds) {
      columns.push_back(transform::row_ids_to_order(queue_, prepared_, order_));
      continue;
    }
    if (number == kWord) {
      columns.push_back(prepare_word(*word++));
      continue;
    }
    columns::DeviceColumn const& column = carried_column(place);
    await(column);
    const transform::StandIn* const nulls = number == kKeyColumn ? nullptr : stand_in(number);
    if (nulls == nullptr) {
      columns.push_back(transform::prepare_values(queue_, prepared_, column));
      continue;
    }
    columns.push_back(transform::prepare_nullable(queue_, prepared_, column, nulls->value, seen++));
  }
  moved_ = transform::radix_unordered(queue_, prepared_, columns, order_);
}

void GpuSide::carry(const plan::JoinPlan& plan, bool row_numbers, bool packs) {
  prepare_to_carry(plan);
  order_ = {plan.transform, {0, plan.radix_bits}, plan::passes_of(plan)};
  choose_carried(row_numbers, plan.gather == plan::Gather::kCarried || moves_payloads_, true,
                 packs ? std::optional(plan::AloneInWord::kAsItIs) : std::nullopt);
  std::vector<size_t> const nullable = draw_stand_ins();
  base::Buffer seen;
  if (!nullable.empty()) {
    seen = queue_.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, nullable.size(),
                                                       "what is seen of columns with NULLs");
    base::check(cudaMemsetAsync(seen.data(), 0, seen.bytes(), base::stream_of(queue_)),
                "starting what is seen of columns with NULLs");
  }
  move_carried(seen.as<uint32_t>());
  if (!nullable.empty() && are_taken(nullable, seen.as<uint32_t>())) {
    move_carried(seen.as<uint32_t>());
  }
  prepared_.along.clear();
  carried_data_.clear();
  for (base::Buffer const& column : moved_.columns) carried_data_.push_back(column.data());
}

void GpuSide::carry_in_place(bool row_numbers) { keep_in_place(row_numbers, std::nullopt); }

void GpuSide::carry_to_parts(bool row_numbers) {
  keep_in_place(row_numbers, plan::AloneInWord::kPacked);
}

void GpuSide::keep_in_place(bool row_numbers, std::optional<plan::AloneInWord> packs) {
  choose_carried(row_numbers, true, false, packs);
  kept_in_place_.clear();
  carried_data_.clear();
  auto word = words_.begin();
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    if (carried_columns_[place] == kRowIds) {
      carried_data_.push_back(prepared_.source_rows);
      continue;
    }
    if (carried_columns_[place] == kWord) {
      kept_in_place_.push_back(prepare_word(*word++));
      carried_data_.push_back(nullptr);
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

match::TableSide GpuSide::table_side() const {
  return {prepared_.keys, prepared_.rows, prepared_.present};
}

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

std::vector<transform::PartColumn> GpuSide::part_columns() const {
  std::vector<transform::PartColumn> columns;
  for (size_t place = 0; place < carried_columns_.size(); ++place) {
    bool const is_last = carried_columns_[place] == kWord || carried_columns_[place] == kRowIds;
    if (!is_last) columns.push_back({carried_data_[place], carried_column(place).width});
  }
  for (CarriedWord const& word : words_) {
    transform::PartColumn& packed = columns.emplace_back();
    packed.width = kernels::kWordBytes;
    for (transform::PreparedColumn const& part : kept_in_place_[word.place].parts) {
      packed.parts.push_back({part.data, part.width});
    }
  }
  if (carries_row_numbers()) {
    columns.push_back({carried_row_numbers(), static_cast<int32_t>(sizeof(uint32_t))});
  }
  return columns;
}

// expected: no row number.
const columns::DeviceColumn& GpuSide::carried_column(size_t place) const {
  bool const is_key_column = carried_columns_[place] == kKeyColumn;
  return is_key_column ? keys_[place] : payloads_[carried_columns_[place]];
}

bool GpuSide::is_in_word(size_t output_column) const {
  return std::any_of(words_.begin(), words_.end(), [&](const CarriedWord& word) {
    return std::find(word.output_columns.begin(), word.output_columns.end(), output_column) !=
           word.output_columns.end();
  });
}

const void* const* GpuSide::carried(size_t output_column) const {
  auto const found = std::find(carried_columns_.begin(), carried_columns_.end(), output_column);
  if (found == carried_columns_.end()) return nullptr;
  return &carried_data_[static_cast<size_t>(found - carried_columns_.begin())];
}

void GpuSide::request_left(columns::ResultColumn* targets,
                           std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || carries(i) || is_in_word(i) || is_carried_key(i)) continue;
    requests->push_back(request_untransformed(i, &targets[i]));
  }
}

}  // namespace gpujoin::execute
