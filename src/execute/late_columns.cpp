#include "src/execute/late_columns.hpp"

#include <algorithm>
#include <utility>

#include "src/base/traffic.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/fetch_rows.hpp"
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

bool is_moved_by_joins(const Relation& relation, int32_t column) {
  return columns::is_moved_as_values(relation.columns[static_cast<size_t>(column)].layout);
}

bool is_late(const JoinSpec& spec, const Relation& relation, int32_t column) {
  return orders_pairs(spec) || !is_moved_by_joins(relation, column);
}

bool any_late(const JoinSpec& spec, const Relation& relation, const std::vector<int32_t>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](int32_t column) { return is_late(spec, relation, column); });
}

// Null: the column is fetched from its own side.
const LateTwin* twin_of(const std::vector<LateTwin>& twins, bool left, int32_t column) {
  for (LateTwin const& twin : twins) {
    if (twin.of_left == left && twin.column == column) return &twin;
  }
  return nullptr;
}

// Whether a late column is fetched from the side, its own or one of the other's.
bool fetches_any(const JoinSpec& spec, const Relation& relation, bool left,
                 const std::vector<LateTwin>& twins) {
  auto const& columns = left ? spec.left_columns : spec.right_columns;
  auto const is_of_side = [&](const LateTwin& twin) { return twin.of_left != left; };
  return std::any_of(twins.begin(), twins.end(), is_of_side) ||
         std::any_of(columns.begin(), columns.end(), [&](int32_t column) {
           return is_late(spec, relation, column) && twin_of(twins, left, column) == nullptr;
         });
}

std::vector<int32_t> early_of(const JoinSpec& spec, const Relation& relation,
                              const std::vector<int32_t>& columns) {
  std::vector<int32_t> early;
  for (int32_t const column : columns) {
    if (!is_late(spec, relation, column)) early.push_back(column);
  }
  return early;
}

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

bool has_late_columns(const Relation& left, const Relation& right, const JoinSpec& spec) {
  return any_late(spec, left, spec.left_columns) || any_late(spec, right, spec.right_columns);
}

std::vector<LateTwin> twins_of(const Relation& left, const Relation& right, const JoinSpec& spec) {
  std::vector<LateTwin> twins;
  if (spec.kind != columns::JoinKind::kInner || left.rows == right.rows) return twins;
  if (orders_pairs(spec)) return twins;
  bool const of_left = left.rows < right.rows;
  std::vector<int32_t> const& wanted = of_left ? spec.left_columns : spec.right_columns;
  for (size_t i = 0; i < spec.left_keys.size(); ++i) {
    ColumnView const& one = left.columns[static_cast<size_t>(spec.left_keys[i])];
    ColumnView const& other = right.columns[static_cast<size_t>(spec.right_keys[i])];
    if (one.layout != Layout::kText || other.layout != Layout::kText) continue;
    if (one.type != other.type || one.arrow_format != other.arrow_format) continue;
    LateTwin const twin{of_left, of_left ? spec.left_keys[i] : spec.right_keys[i],
                        of_left ? spec.right_keys[i] : spec.left_keys[i]};
    if (std::find(wanted.begin(), wanted.end(), twin.column) != wanted.end()) twins.push_back(twin);
  }
  return twins;
}

bool fetches_text(const PlannedJoin& join, bool left) {
  if (!join.late) return false;
  auto const is_of_side = [&](const LateTwin& twin) { return twin.of_left != left; };
  if (std::any_of(join.late_twins.begin(), join.late_twins.end(), is_of_side)) return true;
  Relation const& relation = left ? *join.left : *join.right;
  std::vector<int32_t> const& wanted = left ? join.late->left_columns : join.late->right_columns;
  return std::any_of(wanted.begin(), wanted.end(), [&](int32_t column) {
    return relation.columns[static_cast<size_t>(column)].layout == Layout::kText &&
           twin_of(join.late_twins, left, column) == nullptr;
  });
}

JoinSpec spec_without_late(const Relation& left, const Relation& right, const JoinSpec& asked,
                           const std::vector<LateTwin>& twins) {
  JoinSpec spec = asked;
  spec.left_columns = early_of(asked, left, asked.left_columns);
  spec.right_columns = early_of(asked, right, asked.right_columns);
  spec.materialize = !spec.left_columns.empty() || !spec.right_columns.empty();
  spec.pairs = true;
  // Rows are put in order by both numbers.
  if (asked.pairs || asked.kind != columns::JoinKind::kInner || orders_pairs(asked)) return spec;
  bool const of_left = fetches_any(asked, left, true, twins);
  bool const of_right = fetches_any(asked, right, false, twins);
  if (of_left != of_right) {
    spec.pair_sides = of_left ? columns::PairSides::kLeft : columns::PairSides::kRight;
  }
  return spec;
}

ResultColumn fetch_late(base::Queue& queue, base::Memory memory, const Relation& relation,
                        int32_t column, const Storage& rows, int64_t count,
                        std::vector<columns::StageStatistics>& stages) {
  if (auto const& origin = relation.origin; origin != nullptr && count != 0) {
    auto const number = static_cast<size_t>(column);
    if (number < origin->is_copied.size() && !origin->is_copied[number]) {
      return fetch_late(queue, memory, *origin->relation, column,
                        as_registered(queue, memory, *origin, rows, count), count, stages);
    }
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
  if (auto const& origin = relation.origin; origin != nullptr) {
    auto const number = static_cast<size_t>(column);
    if (number < origin->is_copied.size() && !origin->is_copied[number]) {
      return text_bytes_of(queue, memory, *origin->relation, column,
                           as_registered(queue, memory, *origin, rows, count), count);
    }
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

// Output columns of one side that joins could have moved, where rows are put in order first: they
// are fetched in one go, unless a row of the side may be missing.
std::vector<ResultColumn> fetch_values(base::Queue& queue, const PlannedJoin& join, bool left,
                                       columns::JoinResult& result) {
  JoinSpec const& asked = *join.late;
  int64_t const missing = left ? result.left_rows_missing : result.right_rows_missing;
  auto const& relation = left ? join.left : join.right;
  std::vector<int32_t> wanted;
  if (missing != 0 || !orders_pairs(asked)) return {};
  for (int32_t const column : left ? asked.left_columns : asked.right_columns) {
    if (is_moved_by_joins(*relation, column)) wanted.push_back(column);
  }
  if (wanted.empty()) return {};
  using base::traffic::Locality;
  bool const is_ordering = ordering_side(join) == left;
  return FetchedRelation(queue, relation, plan::device_of(result.memory))
      .fetch("materialize", wanted, left ? result.left_rows : result.right_rows, result.rows,
             is_ordering ? Locality::kClustered : Locality::kRandom, result.statistics.stages);
}

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
  std::vector<ResultColumn> all;
  size_t taken = 0;
  auto const add_side = [&](bool left, const std::vector<int32_t>& wanted) {
    Relation const& relation = left ? *join.left : *join.right;
    std::vector<ResultColumn> values = fetch_values(queue, join, left, result);
    auto value = values.begin();
    for (int32_t const column : wanted) {
      if (value != values.end() && is_moved_by_joins(relation, column)) {
        all.push_back(std::move(*value++));
        continue;
      }
      if (!is_late(asked, relation, column)) {
        all.push_back(std::move(early[taken++]));
        continue;
      }
      const LateTwin* const twin = twin_of(join.late_twins, left, column);
      bool const from_left = twin == nullptr ? left : !left;
      all.push_back(fetch_late(queue, result.memory, from_left ? *join.left : *join.right,
                               twin == nullptr ? column : twin->other,
                               from_left ? result.left_rows : result.right_rows, result.rows,
                               result.statistics.stages));
      all.back().name = relation.columns[static_cast<size_t>(column)].name;
    }
  };
  add_side(true, asked.left_columns);
  add_side(false, asked.right_columns);
  for (; taken < early.size(); ++taken) all.push_back(std::move(early[taken]));
  result.columns = std::move(all);
  if (asked.pairs) return;
  result.has_pairs = false;
  result.pair_sides = columns::PairSides::kBoth;
  result.left_rows = result.right_rows = nullptr;
  result.left_rows_validity = result.right_rows_validity = nullptr;
  result.unmatched_among_pairs = false;
  result.left_rows_missing = result.right_rows_missing = 0;
}

}  // namespace gpujoin::execute
