// without_equality.hpp: joins without keys: pairs of rows by their condition alone.
//
//   range join    by one or two inequalities of columns; what else is in the condition is evaluated
//                 on the pairs that they give
//   nested loop   the condition evaluated on every pair
//
// See docs/decisions/0032-joins-without-an-equality.md.
#pragma once

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "src/execute/range_task.hpp"

namespace gpujoin::execute {

// Whether a join has no keys and is no cross join.
bool is_without_equality(const columns::JoinSpec& spec);

// Fills join.choice. Throws ILLEGAL_PLAN when a technique is named.
void plan_without_equality(base::Queue& queue, plan::Device device, PlannedJoin* join);

// Pairs, or marks of a side, on the executor of the plan, with the columns of join.spec. Throws
// SEVERAL_MATCHES as soon as a row has them that may have one.
void without_equality(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// Each executor's part: leaves row numbers of both sides, or marks, in the result.
void without_equality_on_cpu(base::Queue& queue, const PlannedJoin& join, const RangeTask& task,
                             columns::JoinResult& result);
void without_equality_on_gpu(base::Queue& queue, const PlannedJoin& join, const RangeTask& task,
                             columns::JoinResult& result);

}  // namespace gpujoin::execute
