// decide.hpp: joins whose residual the caller evaluates: pairs of rows with equal keys come out as
// candidates, the caller says which of them match, and the rest of the kind follows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// What the executors are to join for it: pairs, without columns.
columns::JoinSpec candidates_of(const columns::JoinSpec& asked);

// The rows of the kind that was asked for. candidates: as a join with JoinSpec::caller_decides left
// them. answers: one BOOL column with a row for each of them; where it is not true, NULL or false,
// the pair is no match. Throws INVALID_ARGUMENT, TYPE, TOO_MANY_ROWS, SEVERAL_MATCHES.
std::unique_ptr<columns::JoinResult> decide(base::Queue& queue,
                                            const columns::JoinResult& candidates,
                                            const columns::Relation& answers);
// The same. bits: whole 4-byte words with a bit for each candidate, 1: it matches; those behind the
// last one are 0.
std::unique_ptr<columns::JoinResult> decide(base::Queue& queue,
                                            const columns::JoinResult& candidates,
                                            const std::vector<uint8_t>& bits);

}  // namespace gpujoin::execute
