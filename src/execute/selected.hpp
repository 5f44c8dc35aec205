// selected.hpp: relations of which some rows are read, for every executor: what a join reads of the
// rows that are picked is copied together before it is planned, so that nothing behind this knows
// of selections; row numbers become those of the relation as registered at the end.
//
//   copied    keys, output columns that joins move, columns of conditions and aggregates
//   fetched   other output columns, and those that few rows are expected to come out with, by row
//             numbers as registered, from where they lie: late_columns.hpp
//   masked    of a bitmap that leaves nearly all rows, where rows that are not picked cannot come
//             out: keys of theirs are NULL, and nothing is copied
//
// Source   late materialization after a selection, as in Abadi et al., ICDE 2007 ("Materialization
//          Strategies in a Column-Oriented DBMS"), "early" for what the join moves anyway
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// What a join reads of one side.
struct SideOfJoin {
  std::vector<int32_t> columns;   // to be copied
  std::vector<int32_t> payloads;  // of those, what nothing but the output reads
  size_t late = 0;                // payloads that were taken out of both
  bool numbers = false;           // rows are named: by pairs, in messages, to fetch columns
  int32_t masked_key = -1;        // of rows that may be masked in place of copies: a key column
};
SideOfJoin side_of(const columns::Relation& relation, const columns::JoinSpec& spec, bool left);

// Whether rows that are not picked are better taken for rows with a NULL in the key.
bool is_masked(const columns::Relation& relation, const SideOfJoin& side, plan::Device device);

// The rows that are picked, as a relation of their own: of its columns those that are named are
// copied, and the others are not to be read but by fetch_late. A relation that is not selected is
// what it is. note: for explain, what was done. Throws UNSUPPORTED where a CPU plan cannot read the
// selection.
std::shared_ptr<const columns::Relation> picked(
    base::Queue& queue, plan::Device device,
    const std::shared_ptr<const columns::Relation>& relation, const SideOfJoin& side,
    QueuedStages& stages, std::string* note);

}  // namespace gpujoin::execute
