// order_rows.hpp: output rows in the order of one side's rows.
//
// Rows of a side that comes out alone are numbered by marks, which is their order. Pairs are sorted
// by their row numbers before any column is fetched, so that the columns of one side are read in
// runs: such a join is one of row numbers, and all its columns come late. Kinds whose match has the
// order already pay a look at the row numbers.
#pragma once

#include <memory>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Whether the join's rows are pairs that are sorted. spec: what was asked for.
bool orders_pairs(const columns::JoinSpec& spec);

// By which side's rows pairs are sorted; nothing: they are not. True: the left one's.
std::optional<bool> ordering_side(const PlannedJoin& join);

// What it is expected to cost, and how its stage is called. facts: the context's.
plan::StageCost order_cost(const PlannedJoin& join, const base::DeviceFacts& facts, uint64_t pairs);

// Sorts the pairs of a result that has no columns yet. Waits for the stream.
void order_rows(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// The GPU's part, in order_rows_cuda.cpp: false where the pairs are in that order.
bool order_pairs_on_gpu(base::Queue& queue, columns::Storage& first, int64_t first_rows,
                        columns::Storage& second, int64_t second_rows, int64_t count);

}  // namespace gpujoin::execute
