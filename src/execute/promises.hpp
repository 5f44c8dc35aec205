// promises.hpp: what the caller says of the data (GPUJOIN_PROMISE_*), checked.
//
//   sorted   one reading of the keys, when a plan is made
//   unique   rows by their keys, when a plan is made; where the plan is a table that finds build
//            keys which come twice, its own answer, when it is executed
//   rows     of the result
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"
#include "src/keys/sorted_rows.hpp"

namespace gpujoin::execute {

bool is_unique_promised(const columns::Bounds& bounds, bool left);
bool is_sorted_promised(const columns::Bounds& bounds, bool left);
// Where a join with these options runs, and its keys are compared.
bool is_on_gpu(const base::Context& context, const gpujoin_plan_options& options);

// How the rows of a side follow each other (keys::first_unsorted). Throws TYPE for keys without an
// order.
keys::SortedFindings find_steps(base::Queue& queue, bool on_gpu, const columns::Relation& relation,
                                const std::vector<int32_t>& key_columns, bool left);
// The lowest row whose keys a row before it has; keys that are equal to nothing not counted.
std::optional<uint32_t> first_repeat(base::Queue& queue, bool on_gpu,
                                     const std::shared_ptr<const columns::Relation>& relation,
                                     const std::vector<int32_t>& key_columns,
                                     const std::vector<int32_t>& flags);
// Throw BROKEN_PROMISE. row: as the caller calls it; -1: nobody can tell.
[[noreturn]] void fail_for_unsorted(bool left, int64_t row);
[[noreturn]] void fail_for_repeat(bool left, int64_t row);

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
