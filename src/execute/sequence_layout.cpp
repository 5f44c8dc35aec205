#include "src/execute/sequence_layout.hpp"

#include <algorithm>

#include "src/execute/execute.hpp"
#include "src/execute/late_spec.hpp"
#include "src/plan/carry_rule.hpp"

namespace gpujoin::execute {

namespace {

const columns::ColumnView& view_of(const columns::Relation& relation, int32_t column) {
  return relation.columns[static_cast<size_t>(column)];
}

// Of the columns' values and, as a column of its own, their validity.
std::vector<int32_t> widths_of(const columns::Relation& relation,
                               const std::vector<int32_t>& columns) {
  std::vector<int32_t> widths;
  for (int32_t const column : columns) {
    widths.push_back(view_of(relation, column).width);
    if (view_of(relation, column).validity != nullptr) widths.push_back(1);
  }
  return widths;
}

columns::JoinSpec columns_of(const SequenceStep& step) {
  columns::JoinSpec spec;
  spec.right_columns = step.columns;
  return spec;
}

}  // namespace

std::vector<int32_t> distinct(const std::vector<int32_t>& columns) {
  std::vector<int32_t> found;
  for (int32_t const column : columns) {
    if (std::find(found.begin(), found.end(), column) == found.end()) found.push_back(column);
  }
  return found;
}

SequenceLayout::SequenceLayout(const base::Context& context, const columns::Relation& fact,
                               const SequenceSpec& spec, const gpujoin_plan_options& options,
                               plan::Device device)
    : fact_(fact), spec_(spec), options_(options) {
  bool const of_the_context = (device == plan::Device::kCuda) == context.is_cuda();
  facts_ = of_the_context ? context.facts : base::cpu_facts(context.cpu_threads);
  choose_carried(spec.materialize);
}

void SequenceLayout::choose_carried(Materialize materialize) {
  for (size_t i = 0; i < spec_.steps.size(); ++i) {
    SequenceStep const& step = spec_.steps[i];
    if (has_late_columns(fact_, *step.dimension, columns_of(step))) {
      carries_columns_.push_back(false);
      continue;
    }
    if (materialize != Materialize::kAutomatic) {
      carries_columns_.push_back(materialize == Materialize::kAsTheyCome);
      continue;
    }
    plan::DimensionColumns dimension;
    dimension.widths = widths_of(*step.dimension, distinct(step.columns));
    dimension.rows = step.dimension->rows;
    dimension.later_joins = static_cast<int32_t>(spec_.steps.size() - 1 - i);
    dimension.row_numbers_wanted = spec_.row_numbers;
    carries_columns_.push_back(plan::carries_columns(dimension, facts_));
  }
}

bool SequenceLayout::needs_fact_rows_after(size_t step) const {
  return step + 1 < spec_.steps.size() || !spec_.fact_columns.empty() || spec_.row_numbers;
}

bool SequenceLayout::carries_row_numbers(size_t step) const {
  if (spec_.steps[step].kind == columns::JoinKind::kLeftSemi) return false;
  return spec_.row_numbers || (!carries_columns_[step] && !spec_.steps[step].columns.empty());
}

std::vector<Travels> SequenceLayout::after(size_t step) const {
  std::vector<Travels> travels;
  if (needs_fact_rows_after(step)) travels.push_back({kFact, kRowNumbers});
  for (size_t i = 0; i <= step; ++i) {
    auto const number = static_cast<int32_t>(i);
    if (carries_row_numbers(i)) travels.push_back({number, kRowNumbers});
    if (!carries_columns_[i]) continue;
    for (int32_t const column : distinct(spec_.steps[i].columns)) {
      travels.push_back({number, column});
    }
  }
  return travels;
}

columns::JoinSpec SequenceLayout::join_spec(size_t step) const {
  columns::JoinSpec spec;
  spec.kind = spec_.steps[step].kind;
  spec.left_keys = {0};
  spec.right_keys = {spec_.steps[step].dimension_key};
  spec.materialize = true;
  spec.in_order = true;
  std::vector<Travels> const before = step == 0 ? std::vector<Travels>() : after(step - 1);
  std::vector<Travels> const kept = after(step);
  for (size_t i = 0; i < before.size(); ++i) {
    bool const is_kept = std::find(kept.begin(), kept.end(), before[i]) != kept.end();
    if (is_kept) spec.left_columns.push_back(static_cast<int32_t>(i) + 1);
  }
  if (carries_columns_[step]) spec.right_columns = distinct(spec_.steps[step].columns);
  // Rows of the fact relation are at first the left side's own.
  bool const left_rows = step == 0 && needs_fact_rows_after(step);
  bool const right_rows = carries_row_numbers(step);
  spec.pairs = left_rows || right_rows;
  // Rows without a match are found by those of the left side.
  if (left_rows != right_rows && spec.kind != columns::JoinKind::kLeft) {
    spec.pair_sides = left_rows ? columns::PairSides::kLeft : columns::PairSides::kRight;
  }
  return spec;
}

gpujoin_plan_options SequenceLayout::join_options(size_t step, int64_t left_rows) const {
  gpujoin_plan_options options = options_;
  if (options.build_side == 0 && left_rows >= spec_.steps[step].dimension->rows) {
    options.build_side = GPUJOIN_SIDE_RIGHT;
  }
  return options;
}

bool SequenceLayout::may_be_looked_up_on_cpu() const {
  bool const is_its_own =
      options_.algorithm == 0 || options_.algorithm == GPUJOIN_ALGORITHM_CPU_RADIX;
  return is_its_own && options_.build_side != GPUJOIN_SIDE_LEFT && options_.gather == 0 &&
         options_.radix_bits == 0;
}

std::string SequenceLayout::way_of_columns(size_t step) const {
  if (spec_.steps[step].columns.empty()) return "";
  return carries_columns_[step] ? "as_they_come" : "at_the_end";
}

plan::PlanRequest SequenceLayout::expected_request(size_t step, int64_t rows) const {
  columns::JoinSpec const spec = join_spec(step);
  SequenceStep const& joined = spec_.steps[step];
  std::vector<Travels> const before = after(step - 1);
  plan::PlanRequest request;
  request.options = join_options(step, rows);
  request.left.rows = rows;
  request.left.key_width = view_of(fact_, joined.fact_key).width;
  request.left.key_nullable = view_of(fact_, joined.fact_key).validity != nullptr;
  request.left.row_numbers = false;
  for (int32_t const column : spec.left_columns) {
    Travels const& each = before[static_cast<size_t>(column) - 1];
    if (each.column == kRowNumbers) {
      request.left.payload_widths.push_back(sizeof(uint32_t));
      continue;
    }
    columns::Relation const& dimension = *spec_.steps[static_cast<size_t>(each.step)].dimension;
    for (int32_t const width : widths_of(dimension, {each.column})) {
      request.left.payload_widths.push_back(width);
    }
  }
  request.right = describe_side(*joined.dimension, spec.right_keys, spec.right_columns, true);
  request.right.row_numbers = spec.right_rows();
  request.pairs = spec.pairs;
  return request;
}

plan::SequenceOutlook SequenceLayout::outlook(size_t step, int64_t rows) const {
  plan::SequenceOutlook outlook;
  for (size_t later = step + 1; later < spec_.steps.size(); ++later) {
    outlook.later.push_back(expected_request(later, rows));
  }
  outlook.rows = rows;
  outlook.fact_rows = fact_.rows;
  outlook.fact_widths = widths_of(fact_, distinct(spec_.fact_columns));
  return outlook;
}

}  // namespace gpujoin::execute
