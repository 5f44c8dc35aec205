// column_positions.hpp: where a column of a dictionary, or of runs, has its values.
#pragma once

#include "kernels/keys/positions.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::keys {

// expected: a column of the layout; its pointers are taken over.
kernels::Indices indices_of(const columns::ColumnView& column);
kernels::Runs runs_of(const columns::ColumnView& column);

}  // namespace gpujoin::keys
