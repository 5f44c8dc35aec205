#include "src/execute/aggregate.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/aggregate_types.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/group_columns.hpp"
#include "src/execute/group_work.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/planned_groups.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/keys/derived_key.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::Aggregate;
using columns::ColumnView;
using columns::Groups;
using columns::JoinSpec;
using columns::PairSides;
using columns::Relation;
using columns::ResultColumn;
using columns::Storage;
using kernels::GroupState;
using kernels::GroupValue;
using kernels::StateKind;

class GroupsOfJoin final : public JoinGroups {
 public:
  GroupsOfJoin(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result)
      : queue_(queue),
        join_(join),
        asked_(*join.grouped),
        result_(result),
        memory_(result.memory),
        device_(plan::device_of(memory_)),
        columns_(queue, memory_),
        planned_groups_(plan_groups(asked_, *join.left, *join.right)),
        planned_(planned_groups_.states),
        outputs_(planned_groups_.outputs) {
    make_work();
  }

  const cpu::GroupStates* states_of_cpu() const override { return work_->states_of_cpu(); }
  AddedByMatch added() const override { return added_by_match(join_, planned_groups_); }

  InPartitions in_partitions() const override {
    InPartitions asked;
    asked.groups = asked_.groups;
    asked.left = sums_of_partitions(join_, planned_groups_, true);
    asked.right = sums_of_partitions(join_, planned_groups_, false);
    return asked;
  }

  void put_out() override {
    if (result_.added) return put_out_added();
    if (join_.adds_in_match) {
      work_->end();
    } else if (join_.adds_columns) {
      as_stage("aggregate", "columns of the match", [&] { add_columns(); });
    } else {
      as_stage("aggregate", "rows by number", [&] {
        if (is_product(asked_)) {
          add_product();
        } else {
          add_rows(*work_, states_, result_.rows);
        }
      });
    }
    GroupNumbers const groups = groups_that_come_out();
    std::vector<ResultColumn> made;
    if (is_grouped()) made = fetch(by_left(), wanted(), groups);
    put_out_values(groups, groups.numbers, std::move(made));
  }

 private:
  const Relation& relation(bool left) const { return left ? *join_.left : *join_.right; }
  bool is_grouped() const { return asked_.groups != Groups::kAll; }
  bool by_left() const { return asked_.groups == Groups::kLeft; }
  const std::vector<int32_t>& wanted() const {
    return by_left() ? asked_.left_columns : asked_.right_columns;
  }

  void as_stage(const char* stage, const char* technique, const std::function<void()>& work) {
    plan::StageCost cost;
    cost.stage = stage;
    cost.technique = technique;
    for (PlannedState const& state : planned_) {
      uint64_t const width =
          state.column < 0 ? 0
                           : static_cast<uint64_t>(relation(state.of == StateOf::kLeft)
                                                       .columns[static_cast<size_t>(state.column)]
                                                       .width);
      cost.bytes += static_cast<uint64_t>(result_.rows) * (width + sizeof(uint32_t));
    }
    run_as_stage(queue_, device_, cost, result_.statistics.stages, work);
  }

  const ColumnView& column_of(const Aggregate& aggregate) const {
    return relation(aggregate.of_left).columns[static_cast<size_t>(aggregate.column)];
  }

  void make_work() {
    if (join_.adds_in_partitions) return;  // the match makes them
    uint64_t const groups = is_grouped() ? static_cast<uint64_t>(relation(by_left()).rows) : 1;
    for (PlannedState const& planned : planned_) {
      GroupState state;
      const ColumnView* const written = written_by_match(planned);
      if (written != nullptr) {
        state.kind = planned.kind;
        state.numbers = numbers_of(*written);
        if (state.kind == StateKind::kSum) state.words = kernels::sum_words_of(state.numbers);
      } else if (planned.column >= 0) {
        state =
            columns_.state_of(planned.kind, relation(planned.of == StateOf::kLeft), planned.column);
      }
      states_.push_back(state);
    }
    work_ = device_ == plan::Device::kCuda ? group_work_on_gpu(queue_, states_, groups)
                                           : group_work_on_cpu(queue_, states_, groups);
  }

  // The column whose values the match writes; null: it is read by row number, or there is none.
  const ColumnView* written_by_match(const PlannedState& state) const {
    if (!join_.adds_columns || state.column < 0 || kernels::keeps_row(state.kind)) return nullptr;
    ColumnView const& column =
        relation(state.of == StateOf::kLeft).columns[static_cast<size_t>(state.column)];
    return column.layout == columns::Layout::kValues ? &column : nullptr;
  }

  void add_columns() {
    std::vector<int32_t> const places = added().of_states;
    int32_t const first = (result_.has_left_rows() ? 1 : 0) + (result_.has_right_rows() ? 1 : 0);
    for (size_t i = 0; i < states_.size(); ++i) {
      if (written_by_match(planned_[i]) == nullptr) continue;
      ResultColumn const& column = result_.columns[static_cast<size_t>(places[i] - first)];
      states_[i].numbers.values = static_cast<const uint8_t*>(column.data.get());
      states_[i].validity = {static_cast<const uint8_t*>(column.validity.get()), 0};
    }
    add_rows(*work_, states_, result_.rows);
  }

  void add_rows(GroupWork& work, std::vector<GroupState> states, int64_t rows) {
    auto const* const left = static_cast<const uint32_t*>(result_.left_rows.get());
    auto const* const right = static_cast<const uint32_t*>(result_.right_rows.get());
    for (size_t i = 0; i < states.size(); ++i) {
      if (written_by_match(planned_[i]) != nullptr) continue;
      if (planned_[i].of == StateOf::kLeft) states[i].rows = left;
      if (planned_[i].of == StateOf::kRight) states[i].rows = right;
    }
    work.add(states, is_grouped() ? (by_left() ? left : right) : nullptr,
             static_cast<uint64_t>(rows));
  }

  // Each row of a side comes as often as the other side has rows: what one side adds is added once,
  // and multiplied.
  void add_product() {
    auto const left = static_cast<uint64_t>(join_.left->rows);
    auto const right = static_cast<uint64_t>(join_.right->rows);
    if (left == 0 || right == 0) return;
    for (bool const of_left : {true, false}) {
      std::vector<GroupState> states = states_;
      Storage const numbers = all_rows(of_left);
      for (size_t i = 0; i < states.size(); ++i) {
        bool const counts_rows = planned_[i].of == StateOf::kOutput;
        if (counts_rows ? !of_left : planned_[i].of != state_of_side(of_left))
          states[i].is_null = true;
        if (!counts_rows) states[i].rows = static_cast<const uint32_t*>(numbers.get());
      }
      work_->add(states, nullptr, of_left ? left : right);
      for (size_t i = 0; i < states.size(); ++i) {
        bool const adds_up = states[i].kind <= StateKind::kFloatSum;
        if (adds_up && !states[i].is_null) work_->multiply(i, of_left ? right : left);
      }
    }
  }

  Storage all_rows(bool of_left) {
    auto const rows = static_cast<uint64_t>(relation(of_left).rows);
    auto const work = device_ == plan::Device::kCuda ? group_work_on_gpu(queue_, {}, rows)
                                                     : group_work_on_cpu(queue_, {}, rows);
    return work->all().numbers;
  }

  GroupNumbers groups_that_come_out() {
    if (!is_grouped()) return {nullptr, 1};
    bool const all = comes_unmatched(rows_of(asked_, by_left()));
    return all ? work_->all() : work_->select(0);
  }

  // Groups that the match numbered as they came, with their columns.
  void put_out_added() {
    columns::AddedGroups& added = *result_.added;
    for (size_t i = 0; i < planned_.size(); ++i) {
      GroupState state;
      state.kind = planned_[i].kind;
      state.values = static_cast<uint64_t*>(const_cast<void*>(added.states[i].get()));
      states_.push_back(state);
    }
    auto const count = static_cast<uint64_t>(added.rows.rows);
    work_ = added_groups_on_gpu(queue_, states_);
    std::vector<ResultColumn> made;
    auto come = added.rows.columns.begin();
    for (int32_t const column : wanted()) {
      if (comes_with_group(relation(by_left()).columns[static_cast<size_t>(column)])) {
        made.push_back(std::move(*come++));
      } else {
        made.push_back(fetch_late(queue_, memory_, relation(by_left()), column, added.rows.numbers,
                                  added.rows.rows, result_.statistics.stages));
      }
    }
    put_out_values({nullptr, count}, added.rows.numbers, std::move(made));
  }

  // numbers: of the groups' rows, where they are asked for. made: their columns.
  void put_out_values(const GroupNumbers& groups, const Storage& numbers,
                      std::vector<ResultColumn> made) {
    for (size_t i = 0; i < asked_.aggregates.size(); ++i) {
      made.push_back(value_of(i, groups));
    }
    result_.columns = std::move(made);
    result_.rows = static_cast<int64_t>(groups.count);
    result_.has_pairs = is_grouped() && asked_.pairs;
    result_.pair_sides = by_left() ? PairSides::kLeft : PairSides::kRight;
    result_.left_rows = result_.right_rows = nullptr;
    if (result_.has_pairs) (by_left() ? result_.left_rows : result_.right_rows) = numbers;
    result_.left_rows_validity = result_.right_rows_validity = nullptr;
    result_.left_rows_missing = result_.right_rows_missing = 0;
    result_.may_miss_left_rows = result_.may_miss_right_rows = false;
    result_.unmatched_among_pairs = false;
    result_.row_numbers_room = 0;
  }

  std::vector<ResultColumn> fetch(bool left, const std::vector<int32_t>& wanted,
                                  const GroupNumbers& rows) {
    if (rows.count != 0 && !wanted.empty()) {
      FetchedRelation fetched(queue_, left ? join_.left : join_.right, device_);
      return fetched.fetch("materialize", wanted, rows.numbers, static_cast<int64_t>(rows.count),
                           base::traffic::Locality::kClustered, result_.statistics.stages);
    }
    std::vector<ResultColumn> none;
    for (int32_t const column : wanted) {
      none.push_back(fetch_late(queue_, memory_, relation(left), column, nullptr, 0,
                                result_.statistics.stages));
    }
    return none;
  }

  ResultColumn value_of(size_t number, const GroupNumbers& groups) {
    Aggregate const& aggregate = asked_.aggregates[number];
    PlannedGroups::Output const& planned = outputs_[number];
    StateKind const kind = planned_[planned.value].kind;
    const ColumnView* column = has_column(aggregate.function) ? &column_of(aggregate) : nullptr;
    ResultColumn made = total_like(aggregate, column);
    kernels::GroupOutput output;
    output.value = value_kind(aggregate, kind, made.type);
    output.state = work_->words_of(planned.value);
    output.words = states_[planned.value].words;
    bool const may_be_null = output.value != GroupValue::kCount &&
                             output.value != GroupValue::kExists &&
                             output.value != GroupValue::kRowNumber;
    if (may_be_null) output.seen = work_->words_of(planned.seen);
    output.width = made.width;
    if (output.value == GroupValue::kRowNumber) output.width = sizeof(uint32_t);
    if (output.value == GroupValue::kOrdinal) {
      made = columns::column_like(*column);
      made.name = aggregate.name;
      output.width = column->width;
      output.form = states_[planned.value].numbers.form;
    }
    if (output.value == GroupValue::kMean) {
      ColumnView const& values = keys::values_of(*column);
      output.scale = values.parts == nullptr ? 0 : values.parts->scale;
    }
    if (result_.added && is_as_added(output.value)) {
      made.data = result_.added->states[planned.value];
      return made;
    }
    auto const* const numbers = static_cast<const uint32_t*>(groups.numbers.get());
    GroupWork::Finished finished = work_->finish(output, numbers, groups.count);
    if (finished.first_too_large != ~uint64_t{0}) {
      fail_too_large(number, made, groups, finished.first_too_large);
    }
    if (output.value == GroupValue::kRowNumber) {
      made = fetch_late(queue_, memory_, relation(aggregate.of_left), aggregate.column,
                        finished.values, static_cast<int64_t>(groups.count),
                        result_.statistics.stages);
      made.name = aggregate.name;
    } else if (output.value == GroupValue::kExists) {
      made.data = std::move(finished.bits);
    } else {
      made.data = std::move(finished.values);
      made.null_count = finished.nulls;
      if (finished.nulls != 0) made.validity = std::move(finished.bits);
    }
    return made;
  }

  // Words that the match added are the values: groups have a row, and 8 bytes hold their sums.
  static bool is_as_added(GroupValue value) {
    return value == GroupValue::kCount || value == GroupValue::kSigned ||
           value == GroupValue::kUnsigned;
  }

  static GroupValue value_kind(const Aggregate& aggregate, StateKind kind, gpujoin_type type) {
    switch (aggregate.function) {
      case GPUJOIN_FUNCTION_EXISTS:
        return GroupValue::kExists;
      case GPUJOIN_FUNCTION_COUNT:
      case GPUJOIN_FUNCTION_COUNT_ROWS:
        return GroupValue::kCount;
      default:
        break;
    }
    if (kernels::keeps_row(kind)) return GroupValue::kRowNumber;
    if (kind == StateKind::kLeast || kind == StateKind::kGreatest) return GroupValue::kOrdinal;
    bool const is_mean = aggregate.function == GPUJOIN_FUNCTION_AVG;
    if (kind == StateKind::kFloatSum) return is_mean ? GroupValue::kFloatMean : GroupValue::kFloat;
    if (is_mean) return GroupValue::kMean;
    switch (type) {
      case GPUJOIN_TYPE_BYTES16:
        return GroupValue::kDecimal;
      case GPUJOIN_TYPE_UINT64:
        return GroupValue::kUnsigned;
      default:
        return GroupValue::kSigned;
    }
  }

  [[noreturn]] void fail_too_large(size_t number, const ResultColumn& column,
                                   const GroupNumbers& groups, uint64_t at) {
    std::string of_group;
    if (is_grouped()) {
      uint32_t row = 0;
      auto const* const numbers = static_cast<const uint32_t*>(groups.numbers.get());
      base::copy(queue_, &row, base::Memory::kHost, numbers + at, memory_, sizeof(row));
      base::finish(queue_);
      row = as_registered(queue_, relation(by_left()), row);
      of_group =
          std::string(" of ") + (by_left() ? "left" : "right") + " row " + std::to_string(row);
    }
    base::fail(GPUJOIN_ERROR_EVALUATION, "spec.aggregates[%zu]: \"%s\"%s does not fit %s", number,
               column.name.c_str(), of_group.c_str(),
               column.type == GPUJOIN_TYPE_BYTES16 ? "38 digits" : columns::name_of(column.type));
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  const JoinSpec& asked_;
  columns::JoinResult& result_;
  base::Memory memory_;
  plan::Device device_;
  GroupColumns columns_;
  PlannedGroups planned_groups_;
  std::vector<PlannedState> const& planned_;
  std::vector<PlannedGroups::Output> const& outputs_;
  std::vector<GroupState> states_;  // of each planned one
  std::unique_ptr<GroupWork> work_;
};

}  // namespace

std::unique_ptr<JoinGroups> make_groups(base::Queue& queue, const PlannedJoin& join,
                                        columns::JoinResult& result) {
  return std::make_unique<GroupsOfJoin>(queue, join, result);
}

}  // namespace gpujoin::execute
