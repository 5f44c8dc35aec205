// kinds.hpp: every kind of join as an inner join, and what its rows leave marked.
//
//   outer of a side   the pairs, then the rows of that side that none of them has
//   single            the same, where a row may come once
//   semi, anti        rows of a side that are marked, or are not
//   mark, NOT IN      the same, told apart from rows for which a comparison is unknown
//
// A cross join is none: see cross.hpp.
//
// So a kind costs no family of matches anything, and no family knows of kinds.
#pragma once

#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// An inner join or a cross join is what it is.
bool is_policy(columns::JoinKind kind);

// Of left and right joins whether it is the left side whose rows come out without a match too.
std::optional<bool> outer_side(columns::JoinKind kind);

// What the executors are to join: with the row numbers of sides that are marked. matches_alone:
// matches may find the rows of a semi or anti join themselves, with its columns; otherwise those
// are fetched, and no match is asked for them. Chunks, which do not, write both sides' row numbers.
// marks_in_match: of such a side the match marks rows, and writes nothing.
columns::JoinSpec inner_spec_of(const columns::JoinSpec& asked, bool matches_alone,
                                bool marks_in_match);

// From the inner join's result to that of the kind that was asked for. Waits for the stream.
// Throws SEVERAL_MATCHES.
void put_out_kind(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// Throws SEVERAL_MATCHES. row: of the relation that is joined; what is named is the caller's.
[[noreturn]] void fail_for_second_match(base::Queue& queue, const PlannedJoin& join, bool of_left,
                                        uint32_t row);

// Bits of row numbers that are there are made from the numbers, for who asks.
void find_validity_later(columns::JoinResult& result);

// The column of a mark join, without values.
columns::ResultColumn mark_column();

}  // namespace gpujoin::execute
