// carried_cuda.cpp: payloads on their way with their keys, to a match that writes them.
#include <algorithm>
#include <optional>

#include "src/base/status.hpp"
#include "src/execute/gpu_side.hpp"

namespace gpujoin::execute {

void GpuSide::choose_carried(bool row_numbers, bool payloads) {
  carried_columns_.clear();
  bool any_left = false;
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i)) continue;
    // One place is kept for row numbers.
    bool const is_full = carried_columns_.size() + 1 == kernels::kMovedColumns;
    if (!payloads || payloads_[i].validity != nullptr || is_full) {
      any_left = true;
      continue;
    }
    carried_columns_.push_back(i);
  }
  if (row_numbers || any_left) carried_columns_.push_back(kRowIds);
}

void GpuSide::carry(const plan::JoinPlan& plan, bool row_numbers) {
  if (!is_prepared_) prepare(plan);
  kept_in_place_.clear();  // of a table that was not made
  order_ = {plan.transform, {0, plan.radix_bits}, plan::passes_of(plan)};
  choose_carried(row_numbers, plan.gather == plan::Gather::kCarried || moves_payloads_);
  std::vector<transform::PreparedColumn> columns;
  for (size_t const i : carried_columns_) {
    if (i == kRowIds) {
      columns.push_back(transform::row_ids_to_order(context_, prepared_, order_));
    } else {
      await(payloads_[i]);
      columns.push_back(transform::prepare_values(context_, prepared_, payloads_[i]));
    }
  }
  moved_ = transform::radix_unordered(context_, prepared_, columns, order_);
  carried_data_.clear();
  for (base::Buffer const& column : moved_.columns) carried_data_.push_back(column.data());
}

void GpuSide::carry_in_place(bool row_numbers) {
  choose_carried(row_numbers, true);
  kept_in_place_.clear();
  carried_data_.clear();
  for (size_t const i : carried_columns_) {
    if (i == kRowIds) {
      carried_data_.push_back(prepared_.source_rows);
      continue;
    }
    await(payloads_[i]);
    kept_in_place_.push_back(transform::prepare_values(context_, prepared_, payloads_[i]));
    carried_data_.push_back(kept_in_place_.back().data);
  }
}

match::CarriedSide GpuSide::carried_side() const {
  return {moved_.keys.data(), moved_.offsets.as<uint32_t>(), prepared_.rows};
}

match::TableSide GpuSide::table_side() const { return {prepared_.keys, prepared_.rows}; }

const void* const* GpuSide::carried(size_t output_column) const {
  auto const found = std::find(carried_columns_.begin(), carried_columns_.end(), output_column);
  if (found == carried_columns_.end()) return nullptr;
  return &carried_data_[static_cast<size_t>(found - carried_columns_.begin())];
}

void GpuSide::request_left(columns::ResultColumn* targets,
                           std::vector<materialize::Request>* requests) const {
  for (size_t i = 0; i < payloads_.size(); ++i) {
    if (is_key(i) || carries(i)) continue;
    requests->push_back(request_untransformed(i, &targets[i]));
  }
}

namespace {

using kernels::CarriedFrom;
using match::CarriedOutput;

// What a match writes, and row numbers that it writes for those that are fetched afterwards.
class CarriedResult {
 public:
  CarriedResult(GpuSide& build, GpuSide& probe, bool build_left, columns::JoinResult& result)
      : left_(build_left ? build : probe),
        right_(build_left ? probe : build),
        result_(result),
        left_columns_(start_columns(left_, right_, result)) {
    CarriedFrom const from_left = build_left ? CarriedFrom::kBuild : CarriedFrom::kProbe;
    CarriedFrom const from_right = build_left ? CarriedFrom::kProbe : CarriedFrom::kBuild;
    add_outputs(left_, from_left, left_targets(), left_columns_, &left_rows_);
    add_outputs(right_, from_right, right_targets(), result.columns.size() - left_columns_,
                &right_rows_);
  }

  const std::vector<CarriedOutput>& outputs() const { return outputs_; }

  void finish(base::Context& context, const match::CarriedRows& written) {
    result_.rows = static_cast<int64_t>(written.rows);
    for (columns::Storage* const target : key_targets_) *target = keys_;
    result_.statistics.output_resumes = std::max(written.launches - 1, 0);
    materialize::NullCounts null_counts(context,
                                        left_.nullable_columns() + right_.nullable_columns());
    auto const fetch_left = [&](const GpuSide& side, columns::ResultColumn* targets,
                                const columns::Storage& row_numbers) {
      std::vector<materialize::Request> requests;
      side.request_left(targets, &requests);
      if (requests.empty()) return;
      materialize::gather(context, static_cast<const uint32_t*>(row_numbers.get()), written.rows,
                          requests, null_counts);
    };
    fetch_left(left_, left_targets(), left_rows_);
    fetch_left(right_, right_targets(), right_rows_);
    if (result_.has_left_rows()) result_.left_rows = left_rows_;
    if (result_.has_right_rows()) result_.right_rows = right_rows_;
    null_counts.finish();
  }

 private:
  columns::ResultColumn* left_targets() { return result_.columns.data(); }
  columns::ResultColumn* right_targets() { return result_.columns.data() + left_columns_; }

  void add_outputs(const GpuSide& side, CarriedFrom from, columns::ResultColumn* targets,
                   size_t count, columns::Storage* row_numbers) {
    for (size_t i = 0; i < count; ++i) {
      if (side.is_key(i)) {
        if (key_targets_.empty()) {
          outputs_.push_back({nullptr, side.key_width(), CarriedFrom::kKey, &keys_});
        }
        key_targets_.push_back(&targets[i].data);
      } else if (side.carries(i)) {
        outputs_.push_back({side.carried_data(i), targets[i].width, from, &targets[i].data});
      }
    }
    if (!side.carries_row_numbers()) return;
    outputs_.push_back({side.carried_row_numbers(), sizeof(uint32_t), from, row_numbers});
  }

  GpuSide& left_;
  GpuSide& right_;
  columns::JoinResult& result_;
  size_t left_columns_;
  columns::Storage left_rows_;
  columns::Storage right_rows_;
  // Both sides' keys are the same in a row of the result: they are written once, however often they
  // are put out.
  columns::Storage keys_;
  std::vector<columns::Storage*> key_targets_;
  std::vector<CarriedOutput> outputs_;
};

}  // namespace

void write_carried(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                   GpuSide& probe, bool build_left, StageClock& clock,
                   columns::JoinResult& result) {
  CarriedResult carried(build, probe, build_left, result);
  match::CarriedRows const written =
      match::carried_columns(context, plan, build.key_width(), build.carried_side(),
                             probe.carried_side(), carried.outputs());
  if (plan.gather == plan::Gather::kCarriedRows) clock.begin("materialize");
  carried.finish(context, written);
}

namespace {

void note_table(const plan::JoinPlan& plan, plan::Match table, columns::JoinResult& result) {
  if (table == plan.match) return;
  result.statistics.stages.back().technique = base::text(
      "%s: the keys are too far apart for %s", plan::to_text(table), plan::to_text(plan.match));
}

}  // namespace

std::optional<match::NoTable> write_from_table(base::Context& context, const plan::JoinPlan& plan,
                                               GpuSide& build, GpuSide& probe, bool build_left,
                                               match::ScatteredKeys scattered,
                                               columns::JoinResult& result, double* milliseconds) {
  CarriedResult carried(build, probe, build_left, result);
  match::TableResult const answer =
      match::table_columns(context, plan, build.key_width(), build.table_side(), probe.table_side(),
                           carried.outputs(), scattered, milliseconds);
  auto const* const written = std::get_if<match::TableRows>(&answer);
  if (written == nullptr) return std::get<match::NoTable>(answer);
  carried.finish(context, *written);
  note_table(plan, written->table, result);
  return std::nullopt;
}

bool look_up_from_table(base::Context& context, const plan::JoinPlan& plan, GpuSide& build,
                        GpuSide& probe, columns::JoinResult& result) {
  CarriedResult carried(build, probe, false, result);
  std::optional<match::TableRows> const written = match::look_up_columns(
      context, plan, build.key_width(), build.table_side(), probe.table_side(), carried.outputs());
  if (!written) return false;
  carried.finish(context, *written);
  note_table(plan, written->table, result);
  return true;
}

}  // namespace gpujoin::execute
