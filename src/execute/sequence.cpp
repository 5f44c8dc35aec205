#include "src/execute/sequence.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "src/base/status.hpp"
#include "src/columns/register_columns.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/plan/carry_rule.hpp"

namespace gpujoin::execute {

namespace {

using base::fail;
using columns::ColumnView;
using columns::Relation;
using columns::ResultColumn;
using columns::Storage;

constexpr int32_t kFact = -1;        // in the place of a step
constexpr int32_t kRowNumbers = -1;  // in the place of a column

// What travels from join to join beside the next foreign key.
struct Traveller {
  int32_t step = kFact;  // whose relation it is of
  int32_t column = kRowNumbers;
  ResultColumn values;
};

ResultColumn row_numbers_of(Storage rows) {
  ResultColumn column;
  column.name = "row numbers";
  column.arrow_format = columns::arrow_format_of(GPUJOIN_TYPE_UINT32);
  column.type = GPUJOIN_TYPE_UINT32;
  column.width = columns::width_of(GPUJOIN_TYPE_UINT32);
  column.data = std::move(rows);
  return column;
}

ColumnView view_of(const ResultColumn& column, base::Memory memory) {
  ColumnView view;
  view.type = column.type;
  view.width = column.width;
  view.data = column.data.get();
  view.validity = static_cast<const uint8_t*>(column.validity.get());
  view.memory = memory;
  view.name = column.name;
  view.arrow_format = column.arrow_format;
  return view;
}

std::vector<int32_t> distinct(const std::vector<int32_t>& columns) {
  std::vector<int32_t> found;
  for (int32_t const column : columns) {
    if (std::find(found.begin(), found.end(), column) == found.end()) found.push_back(column);
  }
  return found;
}

std::string name_of_step(size_t step) { return "steps[" + std::to_string(step) + "]"; }

class Sequence {
 public:
  Sequence(const std::shared_ptr<base::Context>& context,
           const std::shared_ptr<const Relation>& fact, const SequenceSpec& spec,
           const gpujoin_plan_options& options);
  std::unique_ptr<columns::JoinResult> run();

 private:
  void check_readable(const Relation& relation, int32_t column, const std::string& argument) const;
  void choose_carried();
  bool needs_fact_rows_after(size_t step) const {
    return step + 1 < spec_.steps.size() || !spec_.fact_columns.empty() || spec_.row_numbers;
  }
  bool carries_row_numbers(size_t step) const {
    return spec_.row_numbers || (!carries_columns_[step] && !spec_.steps[step].columns.empty());
  }

  std::shared_ptr<const Relation> left_side(size_t step);
  columns::JoinSpec spec_of(size_t step) const;
  gpujoin_plan_options options_of(size_t step, int64_t left_rows) const;
  void join(size_t step);
  void take_over(size_t step, columns::JoinResult& result);

  const ResultColumn* travelled(int32_t step, int32_t column) const;
  Storage rows_of(int32_t step) const;
  void let_go_of_rows(int32_t step);
  void put_out(FetchedRelation& relation, int32_t step, const std::vector<int32_t>& columns,
               columns::JoinResult& result);
  std::unique_ptr<columns::JoinResult> finish();

  void add_stages(const std::string& prefix, std::vector<columns::StageStatistics> stages);
  void note_plan(const PlannedJoin& join, size_t step);
  void note_peak() { peak_bytes_ = std::max(peak_bytes_, pool_->peak_bytes()); }

  std::shared_ptr<base::Context> context_;
  const SequenceSpec& spec_;
  const gpujoin_plan_options& options_;
  plan::Device device_;
  base::Pool* pool_;
  FetchedRelation fact_;
  std::vector<bool> carries_columns_;  // of each step
  std::vector<Traveller> travellers_;
  int64_t rows_ = 0;

  columns::Statistics statistics_;
  std::string reasons_;
  std::string last_plan_;
  int32_t plan_repeats_ = 0;
  uint64_t held_before_ = 0;
  uint64_t peak_bytes_ = 0;
};

plan::Device device_of(const gpujoin_plan_options& options, const base::Context& context) {
  plan::PlanRequest request;
  request.options = options;
  return plan::device_of(request, context.facts);
}

Sequence::Sequence(const std::shared_ptr<base::Context>& context,
                   const std::shared_ptr<const Relation>& fact, const SequenceSpec& spec,
                   const gpujoin_plan_options& options)
    : context_(context),
      spec_(spec),
      options_(options),
      device_(device_of(options, *context)),
      pool_(device_ == plan::Device::kCuda ? context->device_pool.get() : context->host_pool.get()),
      fact_(fact, device_),
      rows_(fact->rows) {
  if (device_ == plan::Device::kCuda && options.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS) {
    fail(
        GPUJOIN_ERROR_ILLEGAL_PLAN,
        "options.transfer: PROBE_CHUNKS brings results to host memory, and each join of a sequence "
        "leaves its result on the device for the next one");
  }
  for (size_t i = 0; i < spec.steps.size(); ++i) {
    SequenceStep const& step = spec.steps[i];
    std::string const argument = "spec." + name_of_step(i);
    check_readable(*fact, step.fact_key, argument + ".fact_keys");
    check_readable(*step.dimension, step.dimension_key, argument + ".dimension_keys");
    for (int32_t const column : step.columns) {
      check_readable(*step.dimension, column, argument + ".dimension_columns");
    }
    fact_.announce_use(step.fact_key);
  }
  for (int32_t const column : distinct(spec.fact_columns)) {
    check_readable(*fact, column, "spec.fact_columns");
    fact_.announce_use(column);
  }
  choose_carried();
}

// Of the whole specification at once, so that the answer does not depend on the data.
void Sequence::check_readable(const Relation& relation, int32_t column,
                              const std::string& argument) const {
  ColumnView const& view = relation.columns[static_cast<size_t>(column)];
  if (device_ == plan::Device::kCpu && view.memory == base::Memory::kDevice) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "%s: column %d lies in device memory, and a CPU plan cannot "
         "read it",
         argument.c_str(), column);
  }
}

void Sequence::choose_carried() {
  bool const own_facts = (device_ == plan::Device::kCuda) == context_->is_cuda();
  base::DeviceFacts const facts =
      own_facts ? context_->facts : base::cpu_facts(context_->cpu_threads);
  for (size_t i = 0; i < spec_.steps.size(); ++i) {
    SequenceStep const& step = spec_.steps[i];
    if (spec_.materialize != Materialize::kAutomatic) {
      carries_columns_.push_back(spec_.materialize == Materialize::kAsTheyCome);
      continue;
    }
    plan::DimensionColumns dimension;
    for (int32_t const column : distinct(step.columns)) {
      ColumnView const& view = step.dimension->columns[static_cast<size_t>(column)];
      dimension.widths.push_back(view.width);
      if (view.validity != nullptr) dimension.widths.push_back(1);
    }
    dimension.rows = step.dimension->rows;
    dimension.later_joins = static_cast<int32_t>(spec_.steps.size() - 1 - i);
    dimension.row_numbers_wanted = spec_.row_numbers;
    carries_columns_.push_back(plan::carries_columns(dimension, facts));
  }
}

// (FK, what travels): the fact relation's own column at first, its row numbers being the identity.
std::shared_ptr<const Relation> Sequence::left_side(size_t step) {
  int32_t const key = spec_.steps[step].fact_key;
  std::vector<columns::StageStatistics> stages;
  std::shared_ptr<Relation> left;
  if (step == 0) {
    left = fact_.whole(key, stages);
  } else {
    auto kept = std::make_shared<std::vector<ResultColumn>>(
        fact_.fetch("fetch_key", {key}, rows_of(kFact), rows_, stages));
    for (Traveller& traveller : travellers_) kept->push_back(std::move(traveller.values));
    left = std::make_shared<Relation>();
    left->context = context_;
    left->rows = rows_;
    base::Memory const memory =
        device_ == plan::Device::kCuda ? base::Memory::kDevice : base::Memory::kHost;
    for (ResultColumn const& column : *kept) left->columns.push_back(view_of(column, memory));
    left->owner = std::move(kept);
  }
  add_stages(name_of_step(step), std::move(stages));
  return left;
}

columns::JoinSpec Sequence::spec_of(size_t step) const {
  columns::JoinSpec spec;
  spec.left_key = 0;
  spec.right_key = spec_.steps[step].dimension_key;
  spec.materialize = true;
  for (size_t i = 0; i < travellers_.size(); ++i) {
    bool const needed = travellers_[i].step != kFact || needs_fact_rows_after(step);
    if (needed) spec.left_columns.push_back(static_cast<int32_t>(i) + 1);
  }
  if (carries_columns_[step]) spec.right_columns = distinct(spec_.steps[step].columns);
  bool const left_rows = step == 0 && needs_fact_rows_after(step);
  bool const right_rows = carries_row_numbers(step);
  spec.pairs = left_rows || right_rows;
  if (left_rows != right_rows) {
    spec.pair_sides = left_rows ? columns::PairSides::kLeft : columns::PairSides::kRight;
  }
  return spec;
}

// The build side is the dimension, whose keys are the unique ones, unless it is the larger side.
gpujoin_plan_options Sequence::options_of(size_t step, int64_t left_rows) const {
  gpujoin_plan_options options = options_;
  if (options.build_side == 0 && left_rows >= spec_.steps[step].dimension->rows) {
    options.build_side = GPUJOIN_SIDE_RIGHT;
  }
  return options;
}

void Sequence::join(size_t step) {
  columns::JoinSpec spec = spec_of(step);
  std::shared_ptr<const Relation> left = left_side(step);
  gpujoin_plan_options const options = options_of(step, left->rows);
  PlannedJoin const planned =
      make_plan(context_, std::move(left), spec_.steps[step].dimension, std::move(spec), options);
  note_plan(planned, step);
  note_peak();  // execute starts it again
  std::unique_ptr<columns::JoinResult> const result = execute(planned);
  note_peak();
  take_over(step, *result);
}

void Sequence::take_over(size_t step, columns::JoinResult& result) {
  auto const number = static_cast<int32_t>(step);
  std::vector<Traveller> next;
  if (result.left_rows != nullptr) {
    next.push_back({kFact, kRowNumbers, row_numbers_of(std::move(result.left_rows))});
  }
  size_t column = 0;
  for (Traveller const& before : travellers_) {
    if (before.step == kFact && !needs_fact_rows_after(step)) continue;
    next.push_back({before.step, before.column, std::move(result.columns[column++])});
  }
  if (result.right_rows != nullptr) {
    next.push_back({number, kRowNumbers, row_numbers_of(std::move(result.right_rows))});
  }
  if (carries_columns_[step]) {
    for (int32_t const each : distinct(spec_.steps[step].columns)) {
      next.push_back({number, each, std::move(result.columns[column++])});
    }
  }
  travellers_ = std::move(next);
  rows_ = result.rows;
  statistics_.output_resumes += result.statistics.output_resumes;
  add_stages(name_of_step(step), std::move(result.statistics.stages));
}

const ResultColumn* Sequence::travelled(int32_t step, int32_t column) const {
  for (Traveller const& traveller : travellers_) {
    if (traveller.step == step && traveller.column == column) return &traveller.values;
  }
  return nullptr;
}

Storage Sequence::rows_of(int32_t step) const {
  ResultColumn const* numbers = travelled(step, kRowNumbers);
  return numbers == nullptr ? nullptr : numbers->data;
}

void Sequence::let_go_of_rows(int32_t step) {
  std::erase_if(travellers_, [&](const Traveller& traveller) {
    return traveller.step == step && traveller.column == kRowNumbers;
  });
}

// The output columns of one relation: those that travelled as they are, the others fetched.
void Sequence::put_out(FetchedRelation& relation, int32_t step, const std::vector<int32_t>& columns,
                       columns::JoinResult& result) {
  std::vector<int32_t> const each = distinct(columns);
  std::vector<ResultColumn> values;
  bool const travels = step != kFact && carries_columns_[static_cast<size_t>(step)];
  if (rows_ == 0) {
    for (int32_t const column : each) values.push_back(columns::column_like(relation.view(column)));
  } else if (travels) {
    for (int32_t const column : each) values.push_back(*travelled(step, column));
  } else if (!each.empty()) {
    std::vector<columns::StageStatistics> stages;
    values = relation.fetch("materialize", each, rows_of(step), rows_, stages);
    add_stages(step == kFact ? "fact" : name_of_step(static_cast<size_t>(step)), std::move(stages));
  }
  for (int32_t const column : columns) {
    auto const at = std::find(each.begin(), each.end(), column) - each.begin();
    result.columns.push_back(values[static_cast<size_t>(at)]);  // repeats share their memory
  }
}

std::unique_ptr<columns::JoinResult> Sequence::finish() {
  auto result = std::make_unique<columns::JoinResult>();
  result->context = context_;
  result->memory = device_ == plan::Device::kCuda ? base::Memory::kDevice : base::Memory::kHost;
  result->rows = rows_;
  result->has_pairs = spec_.row_numbers;
  if (spec_.row_numbers) result->left_rows = rows_of(kFact);
  put_out(fact_, kFact, spec_.fact_columns, *result);
  let_go_of_rows(kFact);
  for (size_t i = 0; i < spec_.steps.size(); ++i) {
    auto const step = static_cast<int32_t>(i);
    if (spec_.row_numbers) result->step_rows.push_back(rows_of(step));
    FetchedRelation dimension(spec_.steps[i].dimension, device_);
    put_out(dimension, step, spec_.steps[i].columns, *result);
    let_go_of_rows(step);
  }
  return result;
}

void Sequence::add_stages(const std::string& prefix, std::vector<columns::StageStatistics> stages) {
  for (columns::StageStatistics& stage : stages) {
    stage.stage = prefix + "." + stage.stage;
    statistics_.stages.push_back(std::move(stage));
  }
}

// "2 x PHJ-OM build=right columns=as_they_come, NOP build=left columns=at_the_end".
void Sequence::note_plan(const PlannedJoin& join, size_t step) {
  plan::JoinPlan const& plan = join.choice.plan;
  std::string const algorithm = plan::algorithm_name(plan);
  std::string text = algorithm.empty() ? plan::to_text(plan)
                                       : algorithm + " build=" + plan::to_text(plan.build_side);
  if (!spec_.steps[step].columns.empty()) {
    text += carries_columns_[step] ? " columns=as_they_come" : " columns=at_the_end";
  }
  std::string& all = statistics_.plan;
  if (text == last_plan_) {
    std::string const counted = plan_repeats_ > 1 ? std::to_string(plan_repeats_) + " x " : "";
    all.resize(all.size() - counted.size() - text.size());
    text = std::to_string(++plan_repeats_) + " x " + text;
  } else {
    if (!all.empty()) all += ", ";
    last_plan_ = text;
    plan_repeats_ = 1;
  }
  all += text;
  reasons_ += "; " + name_of_step(step) + ": " + join.choice.reason;
}

std::unique_ptr<columns::JoinResult> Sequence::run() {
  auto const start = std::chrono::steady_clock::now();
  pool_->reset_peak();
  held_before_ = pool_->in_use_bytes();
  size_t const steps = spec_.steps.size();
  for (size_t step = 0; step < steps; ++step) {
    context_->step("sequence", static_cast<int64_t>(step), static_cast<int64_t>(steps));
    join(step);
    if (rows_ == 0) break;  // nothing that follows can add a row
    if (step + 1 < steps) {
      columns::check_row_count(rows_,
                               ("spec." + name_of_step(step) + ": rows of its join").c_str());
    }
  }
  context_->step("sequence", static_cast<int64_t>(steps), static_cast<int64_t>(steps));
  std::unique_ptr<columns::JoinResult> result = finish();
  travellers_.clear();
  note_peak();

  statistics_.device = static_cast<gpujoin_device>(device_);
  statistics_.reason = context_->reason + reasons_;
  statistics_.left_rows = fact_.relation().rows;
  for (SequenceStep const& step : spec_.steps) statistics_.right_rows += step.dimension->rows;
  statistics_.peak_memory_bytes = peak_bytes_ - held_before_;
  statistics_.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  result->statistics = std::move(statistics_);
  return result;
}

}  // namespace

std::unique_ptr<columns::JoinResult> join_sequence(
    const std::shared_ptr<base::Context>& context,
    const std::shared_ptr<const columns::Relation>& fact, const SequenceSpec& spec,
    const gpujoin_plan_options& options) {
  return Sequence(context, fact, spec, options).run();
}

}  // namespace gpujoin::execute
