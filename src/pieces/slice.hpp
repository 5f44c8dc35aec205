// slice.hpp: neighbouring rows of a relation, where they lie.
#pragma once

#include <cstdint>
#include <memory>

#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// Rows `first` to `first` + `rows` - 1, without a copy; keeps what it needs of `whole`. expected: a
// relation as registered, of layouts that rows have as gathered (gathered_rows.hpp), or of any
// where all rows are asked for.
std::shared_ptr<const columns::Relation> slice(
    const std::shared_ptr<const columns::Relation>& whole, int64_t first, int64_t rows);

// Whether it is such a relation.
bool can_be_sliced(const columns::Relation& relation);

// A relation with the same columns and no rows.
std::shared_ptr<const columns::Relation> without_rows(const columns::Relation& like);

}  // namespace gpujoin::pieces
