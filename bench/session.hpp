// session.hpp: what all benchmarks of a run share
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell_data.hpp"
#include "bench/join_call.hpp"
#include "bench/library.hpp"
#include "bench/machine.hpp"

namespace gpujoin::bench {

struct Options {
  std::string device = "auto";  // auto, cuda or cpu
  std::string commit;
  std::vector<Cell> cells;  // named on the command line, after those of the table
  int log2_scale = 0;
  int calls = 0;  // timed calls each; 0 = by the cell's size
  bool self_check = false;
  bool flush_cache = false;  // overwrite a buffer larger than the L2 cache before every call
};

struct Session {
  Session(Machine& machine_, const Options& options_);

  // The cell's data: kept until another cell is asked for, and then freed first.
  const CellData& data_of(const Cell& cell);

  Machine& machine;
  Options options;
  Context context;
  double copy_bandwidth;  // GB/s
  bool has_failed = false;
  std::string lost;  // why nothing more can run on the device; empty while it can

 private:
  std::optional<CellData> data_;
};

// Registers cell/<name>/<plan>, cell by cell. The session outlives the run.
void register_joins(Session& session);

}  // namespace gpujoin::bench
