#include "bindings/c/aggregates.hpp"

#include <string>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "src/base/status.hpp"
#include "src/execute/aggregate_types.hpp"
#include "src/execute/late_columns.hpp"

namespace gpujoin::shim {

namespace {

using base::fail;
using columns::ColumnView;
using columns::Groups;
using columns::JoinSpec;
using columns::Relation;
using columns::RowsOfSide;

std::string element(size_t number, const char* field) {
  return "spec.aggregates[" + std::to_string(number) + "]" + field;
}

void check_type(const columns::Aggregate& aggregate, const ColumnView& column, size_t number) {
  bool fits = true;
  switch (aggregate.function) {
    case GPUJOIN_FUNCTION_SUM:
    case GPUJOIN_FUNCTION_AVG:
      fits = execute::has_sum(column);
      break;
    case GPUJOIN_FUNCTION_MIN:
    case GPUJOIN_FUNCTION_MAX:
      fits = execute::has_order(column);
      break;
    default:
      fits = execute::is_put_out(column);
  }
  if (fits) return;
  std::string const type = execute::type_of_values(column);
  fail(GPUJOIN_ERROR_TYPE, "%s: column %d \"%s\" of type %s has no %s",
       element(number, ".column").c_str(), aggregate.column, column.name.c_str(), type.c_str(),
       execute::name_of_function(aggregate.function));
}

columns::Aggregate checked(const gpujoin_aggregate& given, size_t number, const Relation& left,
                           const Relation& right, const JoinSpec& spec) {
  check_range(given.function, GPUJOIN_FUNCTION_COUNT_ROWS, GPUJOIN_FUNCTION_EXISTS,
              element(number, ".function").c_str());
  columns::Aggregate made;
  made.function = given.function;
  std::string name = execute::name_of_function(given.function);
  if (!execute::has_column(given.function)) {
    check_range(given.side, 0, 0, (element(number, ".side of ") + name).c_str());
    check_range(given.column, 0, 0, (element(number, ".column of ") + name).c_str());
    if (given.function == GPUJOIN_FUNCTION_COUNT_ROWS) name += "(*)";
  } else {
    check_range(given.side, GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT,
                element(number, ".side").c_str());
    made.of_left = given.side == GPUJOIN_SIDE_LEFT;
    made.column = given.column;
    const char* const side = made.of_left ? "left" : "right";
    if (rows_of(spec, made.of_left) == RowsOfSide::kNone) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is the %s side and a %s join puts out no %s row",
           element(number, ".side").c_str(), side, columns::to_text(spec.kind), side);
    }
    Relation const& relation = made.of_left ? left : right;
    if (given.column < 0 || static_cast<size_t>(given.column) >= relation.columns.size()) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %d and the %s relation has %zu columns",
           element(number, ".column").c_str(), given.column, side, relation.columns.size());
    }
    ColumnView const& column = relation.columns[static_cast<size_t>(given.column)];
    check_type(made, column, number);
    name += "(" + column.name + ")";
  }
  made.name = given.name == nullptr ? name : given.name;
  return made;
}

void check_kind(const gpujoin_join_spec& known, const JoinSpec& spec) {
  if (rows_of(spec, true) == RowsOfSide::kMarked || rows_of(spec, false) == RowsOfSide::kMarked) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.aggregates: a %s join has a mark, which no aggregate has",
         columns::to_text(spec.kind));
  }
  if (spec.caller_decides) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.aggregates: the caller decides which rows there are");
  }
  if (spec.groups == Groups::kAll) {
    if (!spec.left_columns.empty() || !spec.right_columns.empty()) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
           "spec.%s_column_count is not 0: all rows are one group, whose columns are aggregates; "
           "spec.group_side makes a group for each row of a side",
           spec.left_columns.empty() ? "right" : "left");
    }
    if ((known.output & GPUJOIN_OUTPUT_PAIRS) != 0) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
           "spec.output has GPUJOIN_OUTPUT_PAIRS and all rows are one group, of no row number");
    }
    return;
  }
  bool const by_left = spec.groups == Groups::kLeft;
  const char* const side = by_left ? "left" : "right";
  const char* const other = by_left ? "right" : "left";
  if (comes_alone(spec.kind)) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.group_side: rows of a %s join come out once each, so that every group is a row",
         columns::to_text(spec.kind));
  }
  if (comes_unmatched(rows_of(spec, !by_left))) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.group_side is the %s side, and rows of a %s join without a %s row have no group",
         side, columns::to_text(spec.kind), side);
  }
  if (!(by_left ? spec.right_columns : spec.left_columns).empty()) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.%s_column_count is not 0: a group is a row of the %s side", other, side);
  }
}

}  // namespace

void take_aggregates(const gpujoin_join_spec& known, const Relation& left, const Relation& right,
                     JoinSpec* spec) {
  if (known.aggregates == nullptr || known.aggregate_count == 0) {
    check_range(known.aggregate_count, 0, 0, "spec.aggregate_count without spec.aggregates");
    check_range(known.group_side, 0, 0, "spec.group_side without spec.aggregates");
    if (known.aggregates == nullptr) return;
  }
  check_range(known.aggregate_count, 1, INT32_MAX, "spec.aggregate_count");
  check_range(known.group_side, 0, GPUJOIN_SIDE_RIGHT, "spec.group_side");
  spec->groups = static_cast<Groups>(known.group_side);
  check_kind(known, *spec);
  if (known.output != 0 && (known.output & GPUJOIN_OUTPUT_COLUMNS) == 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.output lacks GPUJOIN_OUTPUT_COLUMNS and aggregates are columns");
  }
  std::vector<gpujoin_aggregate> const given = read_array(
      known.aggregates, known.aggregate_count, "spec.aggregates", "spec.aggregate_count");
  for (size_t i = 0; i < given.size(); ++i) {
    spec->aggregates.push_back(checked(given[i], i, left, right, *spec));
  }
  spec->pairs = (known.output & GPUJOIN_OUTPUT_PAIRS) != 0;
  spec->materialize = true;
}

}  // namespace gpujoin::shim
