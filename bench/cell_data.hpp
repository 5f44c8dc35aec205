// cell_data.hpp: a cell's columns in memory, and what their join must sum up to
#pragma once

#include <vector>

#include "bench/cells.hpp"
#include "bench/machine.hpp"
#include "bench/tasks.hpp"

namespace gpujoin::bench {

struct CellData {
  CellData(Machine& machine, const Cell& cell);

  Cell cell;
  Workload workload;
  Columns build;  // over all of R
  Columns probe;
  std::vector<Memory> memory;  // of the columns
  Sums expected;
};

// Columns of the given rows and widths; their memory is added to `memory`.
Columns allocate_columns(Machine& machine, std::vector<Memory>& memory, int64_t rows, int key_bytes,
                         int payload_count, int payload_bytes);

}  // namespace gpujoin::bench
