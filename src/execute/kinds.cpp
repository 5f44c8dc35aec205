#include "src/execute/kinds.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/status.hpp"
#include "src/base/traffic.hpp"
#include "src/execute/appended_rows.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/execute/late_columns.hpp"
#include "src/execute/output_size.hpp"
#include "src/execute/row_marks.hpp"
#include "src/execute/row_picker.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/execute/travellers.hpp"
#include "src/execute/unknown_comparisons.hpp"
#include "src/plan/memory_of_device.hpp"

namespace gpujoin::execute {

namespace {

using columns::JoinSpec;
using columns::PairSides;
using columns::ResultColumn;
using columns::RowMarks;
using columns::RowsOfSide;
using columns::Storage;

PairSides sides_of(bool left, bool right) {
  if (left && right) return PairSides::kBoth;
  return left ? PairSides::kLeft : PairSides::kRight;
}

Storage rows_validity_of(base::Queue& queue, const columns::JoinResult& result, bool left) {
  Storage const& rows = left ? result.left_rows : result.right_rows;
  return presence_of(queue, result.memory, rows, result.rows).validity;
}

// Rows of one side by their numbers.
struct SideRows {
  Storage numbers;
  int64_t count = 0;
  std::vector<ResultColumn> columns;
};

class KindOfResult {
 public:
  KindOfResult(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result)
      : queue_(queue),
        join_(join),
        result_(result),
        memory_(result.memory),
        device_(plan::device_of(memory_)) {}

  void put_out() {
    for (bool const left : {true, false}) {
      if (comes_alone(rows_of(join_.asked(), left))) return put_out_alone(left);
    }
    put_out_with_unmatched();
  }

 private:
  std::optional<columns::RowsAlone>& alone_of(bool left) const {
    return left ? result_.left_alone : result_.right_alone;
  }
  const columns::Relation& relation(bool left) const { return left ? *join_.left : *join_.right; }

  void as_stage(const char* stage, const char* technique, uint64_t bytes,
                const std::function<void()>& work) {
    plan::StageCost cost;
    cost.stage = stage;
    cost.technique = technique;
    cost.bytes = bytes;
    run_as_stage(queue_, device_, cost, result_.statistics.stages, work);
  }

  // Those that a pair of the inner join has, or of which the match says so.
  std::shared_ptr<RowMarks> marks_of(bool left) {
    if (result_.marks != nullptr) return result_.marks;
    std::shared_ptr<RowMarks> marks;
    auto const& alone = alone_of(left);
    Storage const& numbers = alone ? alone->numbers : left ? result_.left_rows : result_.right_rows;
    auto const count = static_cast<uint64_t>(alone ? alone->rows : result_.rows);
    as_stage("marks", columns::to_text(join_.asked().kind), base::traffic::mark_rows(count), [&] {
      marks = make_row_marks(queue_, memory_, relation(left).rows);
      auto const* const rows = static_cast<const uint32_t*>(numbers.get());
      if (rows_of(join_.asked(), left) != RowsOfSide::kSingle) return marks->mark(rows, count);
      if (auto const twice = marks->mark_once(rows, count)) {
        fail_for_second_match(queue_, join_, left, *twice);
      }
    });
    return marks;
  }

  SideRows rows_by(bool left, RowMarks::Rows rows) {
    return rows_by(left, columns::make_storage(std::move(rows.numbers)), rows.count);
  }
  // expected: with its columns.
  static SideRows rows_of_match(columns::RowsAlone& rows) {
    return {std::move(rows.numbers), rows.rows, std::move(rows.columns)};
  }
  SideRows rows_by(bool left, Storage numbers, int64_t count) {
    SideRows found;
    found.count = count;
    found.numbers = std::move(numbers);
    // Those of pairs come behind the pairs.
    check_limits(join_, count + (comes_alone(join_.asked().kind) ? 0 : result_.rows));
    auto const& wanted = left ? join_.asked().left_columns : join_.asked().right_columns;
    if (found.count == 0 || wanted.empty()) {
      for (int32_t const column : wanted) {
        found.columns.push_back(
            columns::column_like(relation(left).columns[static_cast<size_t>(column)]));
      }
      return found;
    }
    FetchedRelation fetched(queue_, left ? join_.left : join_.right, device_);
    found.columns = fetched.fetch("unmatched", wanted, found.numbers, found.count,
                                  base::traffic::Locality::kClustered, result_.statistics.stages);
    return found;
  }

  SideRows unmatched(bool left) {
    if (!comes_unmatched(rows_of(join_.asked(), left))) return rows_by(left, RowMarks::Rows());
    if (auto& alone = alone_of(left)) return rows_of_match(*alone);
    return rows_by(left, marks_of(left)->unmarked());
  }

  void put_out_with_unmatched() {
    result_.may_miss_left_rows = comes_unmatched(rows_of(join_.asked(), false));
    result_.may_miss_right_rows = comes_unmatched(rows_of(join_.asked(), true));
    if (result_.unmatched_among_pairs) {
      result_.find_rows_validity = rows_validity_of;
    } else {
      put_behind();
    }
    result_.marks = nullptr;
    if (join_.asked().pairs) return;
    result_.has_pairs = false;
    result_.pair_sides = PairSides::kBoth;
    result_.left_rows = result_.right_rows = nullptr;
  }

  void put_behind() {
    SideRows const left = unmatched(true);
    SideRows const right = unmatched(false);
    check_limits(join_, result_.rows + left.count + right.count);
    result_.left_alone = result_.right_alone = std::nullopt;
    if (left.count != 0 || right.count != 0) append(left, right);
  }

  void append(const SideRows& left, const SideRows& right) {
    uint64_t row_bytes = 0;
    for (ResultColumn const& column : result_.columns) {
      row_bytes += static_cast<uint64_t>(column.width);
    }
    uint64_t const bytes =
        base::traffic::append_rows(static_cast<uint64_t>(result_.rows + left.count + right.count),
                                   row_bytes + (join_.asked().pairs ? 8 : 0));
    as_stage("append", "rows without a match", bytes, [&] {
      size_t const of_left = join_.asked().left_columns.size();
      Storage present_left;
      Storage present_right;
      for (size_t i = 0; i < result_.columns.size(); ++i) {
        ResultColumn& column = result_.columns[i];
        bool const is_left = i < of_left;
        std::array<ColumnPart, 3> parts = {
            ColumnPart{result_.rows, &column}, {left.count, nullptr}, {right.count, nullptr}};
        if (is_left) parts[1].column = &left.columns[i];
        if (!is_left) parts[2].column = &right.columns[i - of_left];
        Storage* const present = is_left ? &present_left : &present_right;
        column = append_rows(queue_, memory_, column, parts, 0, present);
      }
      if (!join_.asked().pairs) return;
      append_numbers(left, right, true, &present_left);
      append_numbers(left, right, false, &present_right);
    });
    result_.rows += left.count + right.count;
  }

  void append_numbers(const SideRows& left, const SideRows& right, bool is_left, Storage* present) {
    Storage& numbers = is_left ? result_.left_rows : result_.right_rows;
    ResultColumn matched = row_numbers_of(std::move(numbers));
    matched.room = result_.row_numbers_room;
    ResultColumn const alone = row_numbers_of(is_left ? left.numbers : right.numbers);
    std::array<ColumnPart, 3> parts = {ColumnPart{result_.rows, &matched},
                                       {left.count, is_left ? &alone : nullptr},
                                       {right.count, is_left ? nullptr : &alone}};
    static_assert(GPUJOIN_NO_ROW == 0xffffffff, "made of bytes that are all alike");
    ResultColumn made = append_rows(queue_, memory_, matched, parts, 0xff, present);
    numbers = std::move(made.data);
    (is_left ? result_.left_rows_validity : result_.right_rows_validity) = std::move(made.validity);
    (is_left ? result_.left_rows_missing : result_.right_rows_missing) = made.null_count;
  }

  SideRows rows_alone(bool left) {
    RowsOfSide const wanted = rows_of(join_.asked(), left);
    auto& alone = alone_of(left);
    bool const is_it = alone && (wanted == RowsOfSide::kMatched ||
                                 (wanted == RowsOfSide::kUnmatchedOnly && !alone->with_match));
    auto const& columns = left ? join_.asked().left_columns : join_.asked().right_columns;
    bool const is_in_order = join_.asked().order != columns::RowOrder::kNone;
    if (is_it && alone->columns.size() == columns.size() && !is_in_order) {
      return rows_of_match(*alone);
    }
    // In their order they are fetched several times as fast.
    if (is_it) return rows_by(left, marks_of(left)->marked());
    auto const marks = marks_of(left);
    if (wanted == RowsOfSide::kMatched) return rows_by(left, marks->marked());
    if (wanted == RowsOfSide::kMarked) return marked_rows(left, *marks);
    // Rows that are true or unknown stay out alike.
    if (wanted == RowsOfSide::kNotIn) {
      mark_unknown(queue_, join_, left, memory_, *marks, result_.statistics.stages);
    }
    return rows_by(left, marks->unmarked());
  }

  void put_out_alone(bool left) {
    SideRows rows = rows_alone(left);
    result_.left_rows = result_.right_rows = nullptr;
    result_.rows = rows.count;
    result_.columns = std::move(rows.columns);
    result_.has_pairs = join_.asked().pairs;
    result_.pair_sides = sides_of(left, !left);
    if (join_.asked().pairs) (left ? result_.left_rows : result_.right_rows) = rows.numbers;
    result_.left_alone = result_.right_alone = std::nullopt;
    result_.marks = nullptr;
  }

  // All rows, with their marks as a column.
  SideRows marked_rows(bool left, RowMarks& marks) {
    int64_t const rows = relation(left).rows;
    auto const as_column = [](const RowMarks& bits) {
      return Storage(bits.bits(), bits.bits()->data());
    };
    auto const all = make_row_marks(queue_, memory_, rows);
    SideRows found = rows_by(left, all->unmarked());
    ResultColumn column = mark_column();
    column.data = as_column(marks);
    // What is known: rows with a match, and those without an unknown comparison.
    auto const unknown = make_row_marks(queue_, memory_, rows);
    mark_unknown(queue_, join_, left, memory_, *unknown, result_.statistics.stages);
    if (unknown->count() != 0) {
      auto const known = make_row_marks(queue_, memory_, rows);
      RowMarks::Rows const matched = marks.marked();
      known->mark(matched.numbers.as<uint32_t>(), matched.count);
      RowMarks::Rows const certain = unknown->unmarked();
      known->mark(certain.numbers.as<uint32_t>(), certain.count);
      column.null_count = rows - known->count();
      if (column.null_count != 0) column.validity = as_column(*known);
    }
    if (rows == 0) column.data = nullptr;
    found.columns.push_back(std::move(column));
    return found;
  }

  base::Queue& queue_;
  const PlannedJoin& join_;
  columns::JoinResult& result_;
  base::Memory memory_;
  plan::Device device_;
};

}  // namespace

columns::ResultColumn mark_column() {
  columns::ResultColumn column;
  column.name = "mark";
  column.arrow_format = columns::arrow_format_of(GPUJOIN_TYPE_BOOL);
  column.type = GPUJOIN_TYPE_BOOL;
  column.layout = columns::Layout::kBits;
  return column;
}

bool is_policy(columns::JoinKind kind) {
  return kind != columns::JoinKind::kInner && kind != columns::JoinKind::kCross;
}

void fail_for_second_match(base::Queue& queue, const PlannedJoin& join, bool of_left,
                           uint32_t row) {
  base::fail(GPUJOIN_ERROR_SEVERAL_MATCHES, "%s row %u has more than one match",
             of_left ? "left" : "right",
             as_registered(queue, of_left ? *join.left : *join.right, row));
}

std::optional<bool> outer_side(columns::JoinKind kind) {
  auto const is_outer = [&](bool left) { return rows_of(kind, left) == RowsOfSide::kUnmatched; };
  if (is_outer(true) == is_outer(false)) return std::nullopt;
  return is_outer(true);
}

JoinSpec inner_spec_of(const JoinSpec& asked, bool matches_alone, bool marks_in_match) {
  JoinSpec inner = asked;
  inner.pairs_for_marks = !asked.pairs;
  inner.pairs = true;
  marks_in_match = marks_in_match || asked.residual != nullptr;
  matches_alone = matches_alone && !marks_in_match;
  for (bool const left : {true, false}) {
    RowsOfSide const rows = rows_of(asked, left);
    if (!comes_alone(rows)) continue;
    if (matches_alone) inner.pair_sides = sides_of(left, !left);
    bool const is_part = rows == RowsOfSide::kMatched || rows == RowsOfSide::kUnmatchedOnly;
    // Marks number rows in their order.
    bool const by_marks = asked.order != columns::RowOrder::kNone;
    if (by_marks) inner.pairs_for_marks = false;
    if (matches_alone && is_part && !by_marks) return inner;
    inner.materialize = false;
    inner.left_columns.clear();
    inner.right_columns.clear();
    if (marks_in_match) {
      inner.pairs = false;
      inner.marked = left ? columns::MarkedSide::kLeft : columns::MarkedSide::kRight;
    }
    return inner;
  }
  if (!asked.pairs && matches_alone) {
    inner.pair_sides =
        sides_of(comes_unmatched(rows_of(asked, true)), comes_unmatched(rows_of(asked, false)));
  }
  return inner;
}

void find_validity_later(columns::JoinResult& result) {
  result.unmatched_among_pairs = true;
  result.find_rows_validity = rows_validity_of;
  result.left_rows_validity = result.right_rows_validity = nullptr;
}

void put_out_kind(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result) {
  KindOfResult(queue, join, result).put_out();
}

}  // namespace gpujoin::execute
