#include "src/execute/sequence.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/register_columns.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/looked_up_on_cpu.hpp"
#include "src/execute/sequence_keys.hpp"
#include "src/execute/sequence_layout.hpp"
#include "src/execute/sequence_notes.hpp"
#include "src/execute/sequence_rows.hpp"
#include "src/execute/travellers.hpp"
#include "src/plan/candidates.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using base::fail;
using columns::ColumnView;
using columns::Relation;
using columns::ResultColumn;
using columns::Storage;

class Sequence {
 public:
  Sequence(base::Queue& queue, const std::shared_ptr<const Relation>& fact,
           const SequenceSpec& spec, const gpujoin_plan_options& options);
  std::unique_ptr<columns::JoinResult> run();

 private:
  std::shared_ptr<const Relation> left_side(size_t step);
  void weigh_later_joins(size_t step, PlannedJoin& planned) const;
  bool look_up(size_t step);
  bool look_up_on_cpu(size_t step);
  void number_fact_rows();
  void add_looked_up(size_t step, Storage rows, const std::vector<int32_t>& numbers,
                     std::vector<ResultColumn> columns);
  void join(size_t step);
  void take_over(size_t step, columns::JoinResult& result);

  const ResultColumn* travelled(int32_t step, int32_t column) const;
  Storage rows_of(int32_t step) const;
  base::traffic::Locality locality_of(int32_t step) const {
    return step == kFact && in_order_ ? base::traffic::Locality::kClustered
                                      : base::traffic::Locality::kRandom;
  }
  bool may_miss(int32_t step) const {
    return step != kFact && spec_.steps[static_cast<size_t>(step)].kind == columns::JoinKind::kLeft;
  }
  columns::StepRows numbers_of_step(int32_t step) const;
  void let_go_of_rows(int32_t step);
  void put_out(FetchedRelation& relation, int32_t step, const std::vector<int32_t>& columns,
               columns::JoinResult& result);
  std::unique_ptr<columns::JoinResult> finish();

  void note_peak() { peak_bytes_ = std::max(peak_bytes_, pool_->peak_bytes()); }

  base::Queue& queue_;
  const SequenceSpec& spec_;
  const gpujoin_plan_options& options_;
  plan::Device device_;
  base::Pool* pool_;
  FetchedRelation fact_;
  SequenceLayout layout_;
  std::vector<Traveller> travellers_;
  int64_t rows_ = 0;
  bool in_order_ = true;    // fact rows ascend, nearly
  bool keeps_fact_ = true;  // row i is of fact row i, and row numbers do not travel

  SequenceNotes notes_;
  uint64_t held_before_ = 0;
  uint64_t peak_bytes_ = 0;
};

Sequence::Sequence(base::Queue& queue, const std::shared_ptr<const Relation>& fact,
                   const SequenceSpec& spec, const gpujoin_plan_options& options)
    : queue_(queue),
      spec_(spec),
      options_(options),
      device_(device_of(options, queue.context)),
      pool_(device_ == plan::Device::kCuda ? queue.device_pool.get() : queue.host_pool.get()),
      fact_(queue, fact, device_),
      layout_(queue.context, *fact, spec, options, device_),
      rows_(fact->rows) {
  if (device_ == plan::Device::kCuda && options.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS) {
    fail(
        GPUJOIN_ERROR_ILLEGAL_PLAN,
        "options.transfer: PROBE_CHUNKS brings results to host memory, and each join of a sequence "
        "leaves its result on the device for the next one");
  }
  for (SequenceStep const& step : spec.steps) fact_.announce_use(step.fact_key);
  for (int32_t const column : distinct(spec.fact_columns)) fact_.announce_use(column);
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
        fact_.fetch("fetch_key", {key}, rows_of(kFact), rows_, locality_of(kFact), stages));
    for (Traveller& traveller : travellers_) kept->push_back(std::move(traveller.values));
    left = std::make_shared<Relation>();
    left->context = fact_.relation().context;
    left->rows = rows_;
    base::Memory const memory = plan::memory_of(device_);
    for (ResultColumn const& column : *kept) left->columns.push_back(view_of(column, memory));
    left->owner = std::move(kept);
  }
  notes_.add_stages(name_of_step(step), std::move(stages));
  return left;
}

// A plan that leaves the rows in order may cost more by itself and less with what it spares the
// fetches to come.
void Sequence::weigh_later_joins(size_t step, PlannedJoin& planned) const {
  plan::PlanChoice& choice = planned.choice;
  bool const may_differ = in_order_ && choice.candidates.size() > 1 &&
                          !plan::keeps_left_order(choice.plan()) &&
                          layout_.needs_fact_rows_after(step);
  if (device_ != plan::Device::kCuda || !may_differ || rows_ < kFewestRowsToWeigh) return;
  double const matches = choice.sample.match_ratio * choice.sample.rows_per_match;
  auto const rows = static_cast<int64_t>(static_cast<double>(rows_) * matches);
  double saved = 0;
  plan::Candidate const& best =
      plan::best_in_sequence(choice, layout_.outlook(step, rows), layout_.facts(), &saved);
  if (saved <= 0) return;
  planned.take(best);
  choice.reason =
      base::text("%s leaves the rows in order, which saves %.3f ms of the whole sequence",
                 plan::candidate_name(best.plan).c_str(), saved * 1e3);
  log_choice(queue_.context, choice);
}

// A foreign key that matches one row each time needs no fact row moved, nor what travels: columns
// are fetched where the fact rows are. False: it does not, or only the join can tell.
bool Sequence::look_up(size_t step) {
  int32_t const key = spec_.steps[step].fact_key;
  // What comes over the link is not looked at beforehand.
  auto const is_there = [](const ColumnView& view) { return view.memory == base::Memory::kDevice; };
  Relation const& dimension = *spec_.steps[step].dimension;
  bool const may_fit = keeps_fact_ && rows_ >= kFewestRowsToWeigh &&
                       layout_.needs_fact_rows_after(step) && fact_.view(key).validity == nullptr &&
                       is_there(fact_.view(key)) &&
                       std::all_of(dimension.columns.begin(), dimension.columns.end(), is_there);
  if (!may_fit) return false;
  columns::JoinSpec spec = layout_.join_spec(step);
  spec.left_columns.clear();
  spec.pair_sides = columns::PairSides::kRight;
  spec.pairs = layout_.carries_row_numbers(step);
  if (!spec.pairs && spec.right_columns.empty()) return false;
  spec.keep_left = true;
  fact_.announce_use(key);  // where it does not fit, the join uses it again
  std::vector<columns::StageStatistics> stages;
  std::shared_ptr<const Relation> left = fact_.whole(key, stages);
  PlannedJoin planned = make_plan(queue_, std::move(left), spec_.steps[step].dimension,
                                  std::move(spec), layout_.join_options(step, rows_));
  plan::Candidate const* const table = plan::best_lookup(planned.choice);
  if (table == nullptr) return false;
  planned.take(*table);
  planned.choice.reason = "each row matches one, as far as the sample says, and stays where it is";
  log_choice(queue_.context, planned.choice);
  note_peak();
  std::unique_ptr<columns::JoinResult> const result = execute(queue_, planned);
  note_peak();
  if (!result->keeps_left) {
    for (columns::StageStatistics& stage : result->statistics.stages) {
      stage.technique += ", in vain: a row has no match, or several";
    }
    notes_.add_stages(name_of_step(step), std::move(result->statistics.stages));
    return false;
  }
  fact_.end_use(key);
  notes_.note_plan(step, planned.choice, layout_.way_of_columns(step));
  add_looked_up(step, std::move(result->right_rows), planned.spec.right_columns,
                std::move(result->columns));
  notes_.add_stages(name_of_step(step), std::move(result->statistics.stages));
  return true;
}

// The same on the CPU, where dimensions with dense keys answer, and no plan is made.
bool Sequence::look_up_on_cpu(size_t step) {
  SequenceStep const& joined = spec_.steps[step];
  ColumnView const& key = fact_.view(joined.fact_key);
  bool const may_fit = keeps_fact_ && rows_ >= joined.dimension->rows && key.validity == nullptr;
  if (!may_fit || !layout_.may_be_looked_up_on_cpu()) return false;
  columns::JoinSpec const spec = layout_.join_spec(step);
  bool const row_numbers = layout_.carries_row_numbers(step);
  std::vector<columns::StageStatistics> stages;
  fact_.announce_use(joined.fact_key);  // where it does not fit, the join uses it again
  auto const fact = fact_.whole(joined.fact_key, stages);
  auto found = execute::look_up_on_cpu(queue_, *fact, *joined.dimension, joined.dimension_key,
                                       spec.right_columns, row_numbers, stages);
  note_peak();
  notes_.add_stages(name_of_step(step), std::move(stages));
  if (!found) return false;
  fact_.end_use(joined.fact_key);
  notes_.note_plan(step, "CPU-RADIX build=right", layout_.way_of_columns(step),
                   "each row matches one and stays where it is");
  add_looked_up(step, std::move(found->rows), spec.right_columns, std::move(found->columns));
  return true;
}

// What was looked up of a dimension. rows: null where they do not travel. numbers: of its columns.
void Sequence::add_looked_up(size_t step, Storage rows, const std::vector<int32_t>& numbers,
                             std::vector<ResultColumn> columns) {
  auto const number = static_cast<int32_t>(step);
  if (rows) travellers_.push_back({{number, kRowNumbers}, row_numbers_of(std::move(rows))});
  for (size_t i = 0; i < columns.size(); ++i) {
    travellers_.push_back({{number, numbers[i]}, std::move(columns[i])});
  }
}

// The first row numbers that travel: until now each row was its fact row.
void Sequence::number_fact_rows() {
  travellers_.insert(travellers_.begin(),
                     {{kFact, kRowNumbers}, row_numbers_of(number_rows(queue_, device_, rows_))});
  keeps_fact_ = false;
}

void Sequence::join(size_t step) {
  if (device_ == plan::Device::kCuda ? look_up(step) : look_up_on_cpu(step)) return;
  if (keeps_fact_ && step > 0) number_fact_rows();
  keeps_fact_ = false;
  columns::JoinSpec spec = layout_.join_spec(step);
  std::shared_ptr<const Relation> left = left_side(step);
  PlannedJoin planned = make_plan(queue_, std::move(left), spec_.steps[step].dimension,
                                  std::move(spec), layout_.join_options(step, rows_));
  weigh_later_joins(step, planned);
  notes_.note_plan(step, planned.choice, layout_.way_of_columns(step));
  note_peak();  // execute starts it again
  std::unique_ptr<columns::JoinResult> const result = execute(queue_, planned);
  note_peak();
  if (device_ == plan::Device::kCuda && result->memory != base::Memory::kDevice) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.%s: its plan brings the result to host memory, where the next join cannot read it",
         name_of_step(step).c_str());
  }
  in_order_ = in_order_ && spec_.steps[step].kind == columns::JoinKind::kInner &&
              plan::keeps_left_order(planned.choice.plan());
  take_over(step, *result);
}

void Sequence::take_over(size_t step, columns::JoinResult& result) {
  auto const number = static_cast<int32_t>(step);
  std::vector<Traveller> next;
  size_t column = 0;
  for (Travels const& what : layout_.after(step)) {
    bool const own_rows =
        what.column == kRowNumbers && (what.step == number || (what.step == kFact && step == 0));
    if (own_rows) {
      Storage& rows = what.step == kFact ? result.left_rows : result.right_rows;
      next.push_back({what, row_numbers_of(std::move(rows))});
    } else {
      next.push_back({what, std::move(result.columns[column++])});
    }
  }
  travellers_ = std::move(next);
  rows_ = result.rows;
  notes_.add_resumes(result.statistics.output_resumes);
  notes_.add_stages(name_of_step(step), std::move(result.statistics.stages));
}

const ResultColumn* Sequence::travelled(int32_t step, int32_t column) const {
  for (Traveller const& traveller : travellers_) {
    if (traveller.what == Travels{step, column}) return &traveller.values;
  }
  return nullptr;
}

Storage Sequence::rows_of(int32_t step) const {
  ResultColumn const* numbers = travelled(step, kRowNumbers);
  return numbers == nullptr ? nullptr : numbers->data;
}

void Sequence::let_go_of_rows(int32_t step) {
  std::erase_if(travellers_, [&](const Traveller& traveller) {
    return traveller.what == Travels{step, kRowNumbers};
  });
}

// The output columns of one relation: those that travelled as they are, the others fetched.
void Sequence::put_out(FetchedRelation& relation, int32_t step, const std::vector<int32_t>& columns,
                       columns::JoinResult& result) {
  std::vector<int32_t> const each = distinct(columns);
  std::vector<ResultColumn> values;
  bool const travels = step != kFact && layout_.carries_columns(static_cast<size_t>(step));
  std::vector<columns::StageStatistics> stages;
  if (travels && rows_ != 0) {
    for (int32_t const column : each) values.push_back(*travelled(step, column));
  } else if (rows_ == 0 || may_miss(step)) {
    for (int32_t const column : each) {
      values.push_back(fetch_late(queue_, result.memory, relation.relation(), column, rows_of(step),
                                  rows_, stages));
    }
    if (rows_ != 0) notes_.add_stages(name_of_step(static_cast<size_t>(step)), std::move(stages));
  } else if (!each.empty()) {
    values = relation.fetch("materialize", each, rows_of(step), rows_, locality_of(step), stages);
    notes_.add_stages(step == kFact ? "fact" : name_of_step(static_cast<size_t>(step)),
                      std::move(stages));
  }
  for (int32_t const column : columns) {
    auto const at = std::find(each.begin(), each.end(), column) - each.begin();
    result.columns.push_back(values[static_cast<size_t>(at)]);  // repeats share their memory
  }
}

columns::StepRows Sequence::numbers_of_step(int32_t step) const {
  columns::StepRows made;
  made.come_out = spec_.steps[static_cast<size_t>(step)].kind != columns::JoinKind::kLeftSemi;
  made.rows = rows_of(step);
  made.may_miss = may_miss(step);
  if (!made.may_miss || rows_ == 0) return made;
  base::Memory const memory = plan::memory_of(device_);
  RowPresence present = presence_of(queue_, memory, made.rows, rows_);
  made.validity = std::move(present.validity);
  made.missing = present.missing;
  return made;
}

std::unique_ptr<columns::JoinResult> Sequence::finish() {
  auto result = std::make_unique<columns::JoinResult>();
  result->context = fact_.relation().context;
  result->memory = plan::memory_of(device_);
  result->rows = rows_;
  result->has_pairs = spec_.row_numbers;
  if (keeps_fact_ && device_ == plan::Device::kCpu) number_fact_rows();
  if (spec_.row_numbers) {
    result->left_rows = keeps_fact_ ? number_rows(queue_, device_, rows_) : rows_of(kFact);
  }
  put_out(fact_, kFact, spec_.fact_columns, *result);
  let_go_of_rows(kFact);
  for (size_t i = 0; i < spec_.steps.size(); ++i) {
    auto const step = static_cast<int32_t>(i);
    if (spec_.row_numbers) result->step_rows.push_back(numbers_of_step(step));
    FetchedRelation dimension(queue_, spec_.steps[i].dimension, device_);
    put_out(dimension, step, spec_.steps[i].columns, *result);
    let_go_of_rows(step);
  }
  // Row numbers that were counted last, which no stage has waited for.
  if (keeps_fact_) base::finish(queue_);
  return result;
}

std::unique_ptr<columns::JoinResult> Sequence::run() {
  auto const start = std::chrono::steady_clock::now();
  pool_->reset_peak();
  held_before_ = pool_->in_use_bytes();
  size_t const steps = spec_.steps.size();
  for (size_t step = 0; step < steps; ++step) {
    queue_.step("sequence", static_cast<int64_t>(step), static_cast<int64_t>(steps));
    join(step);
    if (rows_ == 0) break;  // nothing that follows can add a row
    if (step + 1 < steps) {
      columns::check_row_count(rows_,
                               ("spec." + name_of_step(step) + ": rows of its join").c_str());
    }
  }
  queue_.step("sequence", static_cast<int64_t>(steps), static_cast<int64_t>(steps));
  std::unique_ptr<columns::JoinResult> result = finish();
  travellers_.clear();
  note_peak();

  columns::Statistics& said = result->statistics = notes_.take(queue_.context.reason);
  said.device = static_cast<gpujoin_device>(device_);
  said.left_rows = fact_.relation().rows;
  for (SequenceStep const& step : spec_.steps) said.right_rows += step.dimension->rows;
  said.peak_memory_bytes = peak_bytes_ - held_before_;
  said.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

std::unique_ptr<columns::JoinResult> join_sequence(
    base::Queue& queue, const std::shared_ptr<const columns::Relation>& fact,
    const SequenceSpec& spec, const gpujoin_plan_options& options) {
  plan::Device const device = device_of(options, queue.context);
  PickedSequence const picked = picked_sequence(queue, device, fact, spec);
  std::shared_ptr<const Relation> extended = picked.fact;
  SequenceSpec const comparable = with_comparable_keys(queue, device, &extended, picked.spec);
  auto result = Sequence(queue, extended, comparable, options).run();
  name_registered_rows(queue, picked, *result);
  return result;
}

}  // namespace gpujoin::execute
