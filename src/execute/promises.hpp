// promises.hpp: what the caller says of the data (GPUJOIN_PROMISE_*), checked.
//
//   sorted   one reading of the keys, when a plan is made
//   unique   rows by their keys, when a plan is made; where the plan is a table that finds build
//            keys which come twice, its own answer, when it is executed
//   rows     of the result
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// The sides as the caller has them, with the caller's keys; of selected ones the rows picked. All
// of these throw BROKEN_PROMISE, which names the side and the row; TYPE for keys without an order.
void check_sorted(base::Queue& queue, plan::Device device, const PlannedJoin& join,
                  const columns::JoinSpec& spec);
// What is left to the execution is left out. expected: join.promised, and a plan was chosen.
void check_unique_when_planned(base::Queue& queue, const PlannedJoin& join);
// Behind the join.
void check_promises(base::Queue& queue, const PlannedJoin& join, const columns::JoinResult& result);
// Of a join whose candidates the caller decides on, behind that.
void check_promised_rows(const PlannedJoin& join, const columns::JoinResult& result);

}  // namespace gpujoin::execute
