// cell_data.hpp: a cell's columns in memory, and what their join must sum up to
#pragma once

#include <map>
#include <optional>
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

// The same columns elsewhere.
struct HostCopy {
  HostCopy(Machine& machine, const CellData& data, Residence residence);

  Columns build, probe;
  std::vector<Memory> memory;
};

// Keeps the rows of the last cell asked for, and where else they lie: making them takes longer than
// most joins of them.
class CellDataSource {
 public:
  explicit CellDataSource(Machine& machine) : machine_(machine) {}
  const CellData& data_of(const Cell& cell);
  const HostCopy& copy_of(const Cell& cell, Residence residence);

 private:
  Machine& machine_;
  std::optional<CellData> data_;
  std::map<Residence, HostCopy> copies_;
};

// Widths and counts of a side's columns, without memory.
Columns build_shape(const Cell& cell);
Columns probe_shape(const Cell& cell);
Columns build_output_shape(const Cell& cell);  // the output has the keys of S

// All columns of a side: the key, further keys, payloads.
std::vector<Values> all_values(const Columns& columns);

// Columns of the given rows and the shape's widths, without bits of NULLs; their memory is added to
// `memory`.
Columns allocate_columns(Machine& machine, std::vector<Memory>& memory, int64_t rows,
                         const Columns& shape, Residence residence = Residence::kMachine);

// Bits for the columns' keys, of which none is written.
void add_key_bits(Machine& machine, std::vector<Memory>& memory, int64_t rows, Columns& columns,
                  Residence residence);
inline uint64_t key_bits_bytes(int64_t rows) { return static_cast<uint64_t>(rows + 31) / 32 * 4; }

}  // namespace gpujoin::bench
