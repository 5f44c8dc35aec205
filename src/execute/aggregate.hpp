// aggregate.hpp: aggregates over the rows of a join, in the place of the rows.
//
// Source   group-join: Moerkotte & Neumann, VLDB 2011
//
// What an executor joins is the join with the row numbers that aggregates look at. States of the
// groups are added to by them; the values of the columns are read where they are.
#pragma once

#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/group_states.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/planned_groups.hpp"

namespace gpujoin::execute {

// The same join, of rows. expected: asked.aggregates.
columns::JoinSpec spec_of_rows(const columns::JoinSpec& asked);

// The columns of a side that aggregates and groups read.
std::vector<int32_t> columns_read(const columns::JoinSpec& asked, bool left);

// Whether the rows need not be made: all rows are one group of each row with each.
bool is_product(const columns::JoinSpec& asked);

// What partitions on a GPU add up.
struct InPartitions {
  columns::Groups groups = columns::Groups::kLeft;
  std::vector<SumOfPartitions> left;
  std::vector<SumOfPartitions> right;
};

// The groups of one execution.
class JoinGroups {
 public:
  virtual ~JoinGroups() = default;
  // What the CPU's match adds to. expected: join.adds_in_match.
  virtual const cpu::GroupStates* states_of_cpu() const = 0;
  virtual AddedByMatch added() const = 0;
  // expected: join.adds_in_partitions. The match leaves JoinResult::added.
  virtual InPartitions in_partitions() const = 0;
  // From the rows, which are in the result unless the match added them, to their groups. Waits for
  // the stream. Throws EVALUATION.
  virtual void put_out() = 0;
};

// expected: join.grouped; result.memory is set. result: outlives the groups.
std::unique_ptr<JoinGroups> make_groups(base::Queue& queue, const PlannedJoin& join,
                                        columns::JoinResult& result);

}  // namespace gpujoin::execute
