#include "src/execute/late_columns.hpp"

#include <algorithm>
#include <utility>

#include "src/base/traffic.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/late_spec.hpp"
#include "src/execute/order_rows.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::JoinSpec;
using columns::Layout;
using columns::Relation;
using columns::ResultColumn;
using columns::Storage;

// What an output column of such values is, without them.
ResultColumn result_like(const ColumnView& column, const ColumnView& values) {
  ResultColumn made = columns::column_like(values);
  made.name = column.name;
  return made;
}

// A column where an executor has it, and which of its values the output rows have.
class LocatedColumn {
 public:
  LocatedColumn(base::Queue& queue, ColumnWork& work, const ColumnView& given,
                int64_t relation_rows, const Storage& rows, int64_t count)
      : queue_(queue),
        work_(work),
        column_(bring_column(queue, work, given, relation_rows, &copies_)),
        values_(&column_),
        value_rows_(relation_rows),
        numbers_(rows) {
    // A dictionary inside runs is kept.
    while (values_->layout == Layout::kRuns) {
      Storage const positions = run_positions(work, *values_, value_rows_);
      kernels::Composed through;
      through.rows = numbers();
      through.positions = static_cast<const uint32_t*>(positions.get());
      numbers_ = work.positions(through, static_cast<uint64_t>(count));
      value_rows_ = values_->parts->value_rows;
      values_ = values_->parts->values.get();
    }
  }
  LocatedColumn(const LocatedColumn&) = delete;
  LocatedColumn& operator=(const LocatedColumn&) = delete;

  const ColumnView& values() const { return *values_; }
  const uint32_t* numbers() const { return static_cast<const uint32_t*>(numbers_.get()); }
  // expected: values that are bytes.
  columns::GatherSource source() {
    columns::GatherSource source;
    ColumnView of = *values_;
    // Whatever a view says is moved with it.
    if (of.layout == Layout::kViews) of.layout = Layout::kValues;
    source.values = bytes_of(queue_, work_, of, value_rows_, &copies_);
    source.validity = validity_of(*values_);
    return source;
  }

 private:
  base::Queue& queue_;
  ColumnWork& work_;
  Held copies_;
  ColumnView column_;
  const ColumnView* values_;
  int64_t value_rows_;
  Storage numbers_;
};

ResultColumn gather(base::Queue& queue, ColumnWork& work, const ColumnView& given,
                    int64_t relation_rows, const Storage& rows, int64_t count) {
  LocatedColumn column(queue, work, given, relation_rows, rows, count);
  // What the caller's dictionaries and views name outlives this; copies of it do not.
  ResultColumn made = result_like(given, values_behind_runs(given));
  auto const wanted = static_cast<uint64_t>(count);
  ColumnView const& values = column.values();
  if (values.layout == Layout::kNulls) {
    made.null_count = count;
  } else if (values.layout == Layout::kBits) {
    columns::BitsSource source;
    source.bits = static_cast<const uint8_t*>(values.data);
    source.offset = values.parts->first_bit;
    source.validity = validity_of(values);
    take(work.gather(source, column.numbers(), wanted), &made);
  } else {
    take(work.gather(column.source(), column.numbers(), wanted), &made);
  }
  return made;
}

}  // namespace

void take(columns::Gathered gathered, ResultColumn* column) {
  column->data = std::move(gathered.data);
  column->offsets = std::move(gathered.offsets);
  column->offset_width = gathered.offset_width;
  column->text_bytes = gathered.bytes;
  column->validity = std::move(gathered.validity);
  column->null_count = gathered.null_count;
  if (column->layout != Layout::kText || column->offset_width != 8) return;
  // More bytes than 4 count.
  if (column->type == GPUJOIN_TYPE_UTF8) column->type = GPUJOIN_TYPE_LARGE_UTF8;
  if (column->type == GPUJOIN_TYPE_BINARY) column->type = GPUJOIN_TYPE_LARGE_BINARY;
  column->arrow_format = columns::arrow_format_of(column->type);
}

const ColumnView& values_behind_runs(const ColumnView& column) {
  const ColumnView* values = &column;
  while (values->layout == Layout::kRuns) values = values->parts->values.get();
  return *values;
}

bool is_put_out(const ColumnView& column) {
  return values_behind_runs(column).layout != Layout::kOther;
}

ResultColumn fetch_late(base::Queue& queue, base::Memory memory, const Relation& relation,
                        int32_t column, const Storage& rows, int64_t count,
                        std::vector<columns::StageStatistics>& stages) {
  if (is_left_behind(relation, column) && count != 0) {
    columns::Origin const& origin = *relation.origin;
    return fetch_late(queue, memory, *origin.relation, column,
                      as_registered(queue, memory, origin, rows, count), count, stages);
  }
  ColumnView const& view = relation.columns[static_cast<size_t>(column)];
  if (count == 0 || relation.rows == 0) {
    ColumnView const& values = values_behind_runs(view);
    ResultColumn none = result_like(view, values);
    if (values.layout == Layout::kText) none.offset_width = values.parts->offset_width;
    if (count == 0) return none;
  }
  plan::StageCost cost;
  cost.stage = "materialize";
  cost.technique = "gather by row number";
  ResultColumn made;
  run_as_stage(queue, plan::device_of(memory), cost, stages, [&] {
    auto const work = make_column_work(queue, memory);
    if (relation.ready_event != nullptr) work->await(relation.ready_event);
    made = gather(queue, *work, view, relation.rows, rows, count);
  });
  auto const bytes = made.text_bytes + static_cast<uint64_t>(made.width + made.offset_width) *
                                           static_cast<uint64_t>(count);
  stages.back().predicted_bytes = 2 * bytes + 4 * static_cast<uint64_t>(count);
  return made;
}

uint64_t text_bytes_of(base::Queue& queue, base::Memory memory, const Relation& relation,
                       int32_t column, const Storage& rows, int64_t count) {
  if (count == 0 || relation.rows == 0) return 0;
  if (is_left_behind(relation, column)) {
    columns::Origin const& origin = *relation.origin;
    return text_bytes_of(queue, memory, *origin.relation, column,
                         as_registered(queue, memory, origin, rows, count), count);
  }
  auto const work = make_column_work(queue, memory);
  if (relation.ready_event != nullptr) work->await(relation.ready_event);
  LocatedColumn located(queue, *work, relation.columns[static_cast<size_t>(column)], relation.rows,
                        rows, count);
  return work->text_bytes(located.source(), located.numbers(), static_cast<uint64_t>(count));
}

RowPresence presence_of(base::Queue& queue, base::Memory memory, const Storage& rows,
                        int64_t count) {
  auto const work = make_column_work(queue, memory);
  // Of a column of values without bytes only the validity comes out.
  columns::GatherSource nothing;
  columns::Gathered made =
      work->gather(nothing, static_cast<const uint32_t*>(rows.get()), static_cast<uint64_t>(count));
  return {std::move(made.validity), made.null_count};
}

namespace {

// The output columns of one side, of a result that has the early ones.
class SideOfOutput {
 public:
  SideOfOutput(base::Queue& queue, const PlannedJoin& join, bool left, columns::JoinResult& result)
      : queue_(queue),
        join_(join),
        left_(left),
        result_(result),
        relation_(left ? join.left : join.right),
        wanted_(left ? join.late->left_columns : join.late->right_columns) {}

  // expected: its early columns from `first` on, in their order. Returns behind them.
  size_t take_early(std::vector<ResultColumn>& early, size_t first) {
    bool any = false;
    for (int32_t const column : wanted_) {
      bool const is_early = !is_late(*join_.late, *relation_, column);
      any = any || !is_early;
      columns_.push_back(is_early ? std::move(early[first++]) : ResultColumn());
      is_there_.push_back(is_early);
    }
    if (!any || !are_numbers_columns(*join_.left, *join_.right, *join_.late)) return first;
    registered_ = std::move(early[first++].data);
    return first;
  }

  // Those that joins could have moved, in one go, unless a row of the side may be missing.
  void fetch_values(QueuedStages& stages) {
    int64_t const missing = left_ ? result_.left_rows_missing : result_.right_rows_missing;
    if (missing != 0 || result_.rows == 0) return;
    using base::traffic::Locality;
    // In the order of whose row numbers they come.
    bool const is_ordering = ordering_side(join_) == left_;
    for (bool const left_behind : {false, true}) {
      std::vector<int32_t> fetched;
      std::vector<size_t> places;
      for (size_t i = 0; i < wanted_.size(); ++i) {
        if (is_there_[i] || !is_moved_by_joins(*relation_, wanted_[i])) continue;
        if (is_left_behind(*relation_, wanted_[i]) != left_behind) continue;
        fetched.push_back(wanted_[i]);
        places.push_back(i);
        is_there_[i] = true;
      }
      if (fetched.empty()) continue;
      auto const& of = left_behind ? relation_->origin->relation : relation_;
      std::vector<ResultColumn> made =
          FetchedRelation(queue_, of, plan::device_of(result_.memory))
              .fetch("materialize", fetched, left_behind ? registered_rows() : rows(), result_.rows,
                     is_ordering ? Locality::kClustered : Locality::kRandom, stages);
      for (size_t i = 0; i < places.size(); ++i) columns_[places[i]] = std::move(made[i]);
    }
  }

  // other: the side that a column may be fetched from in the place of its own.
  std::vector<ResultColumn> all(SideOfOutput& other) {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (is_there_[i]) continue;
      const LateTwin* const twin = twin_of(join_.late_twins, left_, wanted_[i]);
      columns_[i] = twin == nullptr ? fetch(wanted_[i]) : other.fetch(twin->other);
      columns_[i].name = relation_->columns[static_cast<size_t>(wanted_[i])].name;
    }
    return std::move(columns_);
  }

 private:
  const Storage& rows() const { return left_ ? result_.left_rows : result_.right_rows; }
  // The same rows of the relation as registered.
  const Storage& registered_rows() {
    if (registered_ == nullptr) {
      registered_ = as_registered(queue_, result_.memory, *relation_->origin, rows(), result_.rows);
    }
    return registered_;
  }
  ResultColumn fetch(int32_t column) {
    bool const is_of_origin = is_left_behind(*relation_, column) && result_.rows != 0;
    return fetch_late(
        queue_, result_.memory, is_of_origin ? *relation_->origin->relation : *relation_, column,
        is_of_origin ? registered_rows() : rows(), result_.rows, result_.statistics.stages);
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  bool left_;
  columns::JoinResult& result_;
  std::shared_ptr<const Relation> relation_;
  const std::vector<int32_t>& wanted_;
  std::vector<ResultColumn> columns_;
  std::vector<bool> is_there_;  // of columns_
  Storage registered_;
};

// Of text, lengths are summed up before bytes are fetched.
void check_text(base::Queue& queue, const PlannedJoin& join, const columns::JoinResult& result) {
  if (join.bounds.byte_limit == 0 || join.grouped) return;
  uint64_t bytes = 0;
  for (OutputText const& text : row_size_of(*join.left, *join.right, *join.late).texts) {
    const LateTwin* const twin = twin_of(join.late_twins, text.of_left, text.column);
    bool const from_left = twin == nullptr ? text.of_left : !text.of_left;
    bytes += text_bytes_of(queue, result.memory, from_left ? *join.left : *join.right,
                           twin == nullptr ? text.column : twin->other,
                           from_left ? result.left_rows : result.right_rows, result.rows);
  }
  check_limits(join, result.rows, bytes);
}

}  // namespace

void put_out_late(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  JoinSpec const& asked = *join.late;
  check_text(queue, join, result);
  std::vector<ResultColumn> early = std::move(result.columns);
  SideOfOutput left(queue, join, true, result);
  SideOfOutput right(queue, join, false, result);
  size_t const behind = right.take_early(early, left.take_early(early, 0));
  QueuedStages stages(queue, result.statistics.stages);
  left.fetch_values(stages);
  right.fetch_values(stages);
  stages.finish();
  result.columns = left.all(right);
  for (ResultColumn& column : right.all(left)) result.columns.push_back(std::move(column));
  for (size_t i = behind; i < early.size(); ++i) result.columns.push_back(std::move(early[i]));
  if (asked.pairs) return;
  result.has_pairs = false;
  result.pair_sides = columns::PairSides::kBoth;
  result.left_rows = result.right_rows = nullptr;
  result.left_rows_validity = result.right_rows_validity = nullptr;
  result.unmatched_among_pairs = false;
  result.left_rows_missing = result.right_rows_missing = 0;
}

}  // namespace gpujoin::execute
