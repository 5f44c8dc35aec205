// planned_groups.hpp: which states a join's groups have, and what is joined to make them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/aggregate/states.hpp"
#include "src/columns/column.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Whose rows a state looks at.
enum class StateOf : int32_t { kOutput, kLeft, kRight };
inline StateOf state_of_side(bool left) { return left ? StateOf::kLeft : StateOf::kRight; }

struct PlannedState {
  kernels::StateKind kind = kernels::StateKind::kRows;
  StateOf of = StateOf::kOutput;
  int32_t column = -1;  // of kRows: none, rows of the side are counted
  bool operator==(const PlannedState&) const = default;
};

struct PlannedGroups {
  std::vector<PlannedState> states;  // the first one counts the rows
  struct Output {
    size_t value = 0;
    size_t seen = 0;  // counts values that are not NULL
  };
  std::vector<Output> outputs;  // of each aggregate, by number of state
};

PlannedGroups plan_groups(const columns::JoinSpec& asked, const columns::Relation& left,
                          const columns::Relation& right);

// Whether values come out by what the column's rows have as numbers, not by row number.
bool has_own_ordinals(const columns::ColumnView& column);

// What is to be joined in the place of join.grouped, and what adds it up. in_partitions: see
// make_plan.
void spec_rows_of_groups(plan::Device device, bool in_partitions, PlannedJoin* join,
                         columns::JoinSpec* spec);

// Of a join that adds_in_partitions: whether its plan can.
bool is_plan_of_groups(const PlannedJoin& join);

// Output columns of the side with the groups that come with them; the others are fetched by row
// number.
bool comes_with_group(const columns::ColumnView& column);

// What partitions sum up: column `place` of the side's columns in the specification of the join.
struct SumOfPartitions {
  size_t state = 0;
  size_t place = 0;
  columns::ColumnView column;
};
std::vector<SumOfPartitions> sums_of_partitions(const PlannedJoin& join,
                                                const PlannedGroups& planned, bool of_left);

// Where the match's sources have what is added: row numbers of the left side, of the right side,
// left columns, right columns, of which there are. expected: adds_in_match or adds_columns.
struct AddedByMatch {
  int32_t groups = -1;             // -1: one group
  std::vector<int32_t> of_states;  // -1: none, matches are counted
};
AddedByMatch added_by_match(const PlannedJoin& join, const PlannedGroups& planned);

}  // namespace gpujoin::execute
