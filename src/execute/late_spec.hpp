// late_spec.hpp: which output columns of a join come late, and the join without them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Columns of values, which joins can move; others are always late.
bool is_moved_by_joins(const columns::Relation& relation, int32_t column);

// Whether rows of the relation were picked, and the column stayed where it was.
bool is_left_behind(const columns::Relation& relation, int32_t column);

// Of an output column.
bool is_late(const columns::JoinSpec& spec, const columns::Relation& relation, int32_t column);

// Whether row numbers as registered are carried as a column like any other, in the place of late
// columns: nothing else wants row numbers, which would count picked rows, and none is missing, for
// which such a column has no number.
bool are_numbers_columns(const columns::Relation& left, const columns::Relation& right,
                         const columns::JoinSpec& spec);

// Whether any output column is late.
bool has_late_columns(const columns::Relation& left, const columns::Relation& right,
                      const columns::JoinSpec& spec);

// Of the side of fewer rows the text keys that are output columns, where the other side has the
// same: its rows the CPU looks up in their order, and so fetches it from neighbours. spec: its keys
// are the caller's.
std::vector<LateTwin> twins_of(const columns::Relation& left, const columns::Relation& right,
                               const columns::JoinSpec& spec);

// Whether text is fetched from a side.
bool fetches_text(const PlannedJoin& join, bool left);

// The same join without them, with the row numbers by which they are fetched.
columns::JoinSpec spec_without_late(const columns::Relation& left, const columns::Relation& right,
                                    const columns::JoinSpec& asked,
                                    const std::vector<LateTwin>& twins);

// Null: the column is fetched from its own side.
const LateTwin* twin_of(const std::vector<LateTwin>& twins, bool left, int32_t column);

}  // namespace gpujoin::execute
