#include "src/execute/output_size.hpp"

#include <algorithm>
#include <cstdint>

#include "src/base/status.hpp"
#include "src/execute/late_columns.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::JoinSpec;
using columns::Layout;
using columns::Relation;

// Rows of a result that any memory holds are fewer.
constexpr uint64_t kMostRows = uint64_t{1} << 48;

bool may_be_null(const ColumnView& column) {
  if (column.layout == Layout::kRuns) return may_be_null(*column.parts->values);
  return column.layout == Layout::kNulls || column.validity != nullptr;
}

void add_column(const ColumnView& column, bool may_miss, OutputText name, RowSize* size) {
  const ColumnView& values = values_behind_runs(column);
  if (may_miss || may_be_null(column)) ++size->bits;
  if (values.layout == Layout::kBits) {
    ++size->bits;
  } else if (values.layout == Layout::kText) {
    size->offset_bytes += static_cast<uint64_t>(values.parts->offset_width);
    size->texts.push_back(name);
  } else if (values.layout != Layout::kNulls) {
    size->fixed_bytes += static_cast<uint64_t>(values.width);
  }
}

// Of picked rows the columns may have got validity, or lost it.
const Relation& registered(const PlannedJoin& join, bool left) {
  auto const& own = left ? join.left : join.right;
  if (!join.picked) return *own;
  auto const& of = left ? join.picked->of_left : join.picked->of_right;
  return of != nullptr ? *of : *own;
}

}  // namespace

uint64_t RowSize::bytes_of(uint64_t rows) const {
  if (rows == 0) return 0;
  uint64_t const rounded = (rows + 7) / 8;
  uint64_t values = 0;
  uint64_t offsets = 0;
  uint64_t bit_bytes = 0;
  uint64_t sum = 0;
  bool const is_too_much = __builtin_mul_overflow(rows, fixed_bytes, &values) ||
                           __builtin_mul_overflow(rows + 1, offset_bytes, &offsets) ||
                           __builtin_mul_overflow(rounded, bits, &bit_bytes) ||
                           __builtin_add_overflow(values, offsets, &sum) ||
                           __builtin_add_overflow(sum, bit_bytes, &sum);
  return is_too_much ? UINT64_MAX : sum;
}

uint64_t RowSize::rows_within(uint64_t bytes) const {
  uint64_t fits = 0;
  uint64_t beyond = kMostRows;
  while (beyond - fits > 1) {
    uint64_t const rows = fits + (beyond - fits) / 2;
    (bytes_of(rows) <= bytes ? fits : beyond) = rows;
  }
  return fits;
}

RowSize row_size_of(const Relation& left, const Relation& right, const JoinSpec& spec) {
  RowSize size;
  for (bool const of_left : {true, false}) {
    Relation const& relation = of_left ? left : right;
    bool const may_miss = comes_unmatched(rows_of(spec, !of_left));
    for (int32_t const column : of_left ? spec.left_columns : spec.right_columns) {
      add_column(relation.columns[static_cast<size_t>(column)], may_miss, {of_left, column}, &size);
    }
    if (rows_of(spec, of_left) == columns::RowsOfSide::kMarked) size.bits += 2;
    if (spec.pairs && !comes_alone(rows_of(spec, !of_left))) size.fixed_bytes += sizeof(uint32_t);
  }
  return size;
}

int64_t early_row_limit(const PlannedJoin& join) {
  JoinSpec const& spec = join.wanted();
  columns::Bounds const& bounds = spec.bounds;
  if (bounds.row_limit == 0 && bounds.byte_limit == 0) return 0;
  // Rows of a match, behind its filter, are rows of the output, or leave some out. Those of an
  // ASOF join are no more than a side's.
  bool const is_of_pairs = !comes_alone(rows_of(spec, true)) &&
                           !comes_alone(rows_of(spec, false)) && !spec.caller_decides &&
                           !spec.asof && spec.aggregates.empty();
  if (!is_of_pairs) return 0;
  int64_t most = bounds.row_limit;
  if (bounds.byte_limit != 0) {
    // Of no row there is no byte: a limit of none would read as no limit.
    RowSize const size = row_size_of(registered(join, true), registered(join, false), spec);
    auto const rows =
        static_cast<int64_t>(std::max<uint64_t>(1, size.rows_within(bounds.byte_limit)));
    most = most == 0 ? rows : std::min(most, rows);
  }
  return most;
}

void check_limits(const PlannedJoin& join, int64_t rows, uint64_t text_bytes) {
  // The limits are those of the groups.
  if (join.grouped) return;
  columns::Bounds const& bounds = join.bounds;
  if (bounds.row_limit != 0 && rows > bounds.row_limit) {
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit is %lld and the join has %lld rows",
               static_cast<long long>(bounds.row_limit), static_cast<long long>(rows));
  }
  if (bounds.byte_limit == 0) return;
  RowSize const size = row_size_of(registered(join, true), registered(join, false), join.wanted());
  uint64_t bytes = size.bytes_of(static_cast<uint64_t>(rows));
  if (__builtin_add_overflow(bytes, text_bytes, &bytes)) bytes = UINT64_MAX;
  if (bytes <= bounds.byte_limit) return;
  bool const is_all = size.texts.empty() || text_bytes != 0;
  base::fail(GPUJOIN_ERROR_BYTE_LIMIT,
             "spec.byte_limit is %llu and the join's %lld rows have %s%llu bytes",
             static_cast<unsigned long long>(bounds.byte_limit), static_cast<long long>(rows),
             is_all ? "" : "at least ", static_cast<unsigned long long>(bytes));
}

void check_bounds(const columns::Bounds& bounds, int64_t rows, uint64_t bytes) {
  if (bounds.row_limit != 0 && rows > bounds.row_limit) {
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit is %lld and the join has %lld rows or more",
               static_cast<long long>(bounds.row_limit), static_cast<long long>(rows));
  }
  if ((bounds.promises & GPUJOIN_PROMISE_ROWS) != 0 && rows > bounds.promised_rows) {
    base::fail(GPUJOIN_ERROR_BROKEN_PROMISE,
               "spec.promised_rows is %lld and the join has %lld rows or more",
               static_cast<long long>(bounds.promised_rows), static_cast<long long>(rows));
  }
  if (bounds.byte_limit != 0 && bytes > bounds.byte_limit) {
    base::fail(
        GPUJOIN_ERROR_BYTE_LIMIT, "spec.byte_limit is %llu and the join has %llu bytes or more",
        static_cast<unsigned long long>(bounds.byte_limit), static_cast<unsigned long long>(bytes));
  }
}

uint64_t bytes_of_result(const columns::JoinResult& result) {
  auto const rows = static_cast<uint64_t>(result.rows);
  RowSize size;
  uint64_t text_bytes = 0;
  for (columns::ResultColumn const& column : result.columns) {
    if (column.null_count != 0) ++size.bits;
    if (column.layout == Layout::kBits) {
      ++size.bits;
    } else if (column.layout != Layout::kText) {
      size.fixed_bytes += static_cast<uint64_t>(column.width);
    }
    size.offset_bytes += static_cast<uint64_t>(column.offset_width);
    text_bytes += column.text_bytes;
  }
  if (result.has_left_rows()) size.fixed_bytes += sizeof(uint32_t);
  if (result.has_right_rows()) size.fixed_bytes += sizeof(uint32_t);
  return size.bytes_of(rows) + text_bytes;
}

void check_group_limits(const PlannedJoin& join, const columns::JoinResult& result) {
  columns::Bounds const& bounds = join.bounds;
  if (bounds.row_limit != 0 && result.rows > bounds.row_limit) {
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit is %lld and there are %lld groups",
               static_cast<long long>(bounds.row_limit), static_cast<long long>(result.rows));
  }
  uint64_t const bytes = bytes_of_result(result);
  if (bounds.byte_limit == 0 || bytes <= bounds.byte_limit) return;
  base::fail(GPUJOIN_ERROR_BYTE_LIMIT, "spec.byte_limit is %llu and the groups have %llu bytes",
             static_cast<unsigned long long>(bounds.byte_limit),
             static_cast<unsigned long long>(bytes));
}

void fail_early(const PlannedJoin& join, const char* found) {
  columns::Bounds const& bounds = join.bounds;
  if (bounds.row_limit == join.spec.bounds.row_limit) {
    base::fail(GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit is %lld and the join has %s",
               static_cast<long long>(bounds.row_limit), found);
  }
  base::fail(GPUJOIN_ERROR_BYTE_LIMIT, "spec.byte_limit is %llu and the join has %s",
             static_cast<unsigned long long>(bounds.byte_limit), found);
}

}  // namespace gpujoin::execute
