// session.hpp: what all benchmarks of a run share
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell_data.hpp"
#include "bench/kernel_trace.hpp"
#include "bench/library.hpp"
#include "bench/machine.hpp"
#include "bench/plans.hpp"

namespace gpujoin::bench {

struct Options {
  std::string device = "auto";  // auto, cuda or cpu
  std::string commit;
  std::string calibrate;         // measure, write this file, and do nothing else
  std::string calibration;       // of the library's context: a file so written; empty = built in
  std::vector<Cell> cells;       // named on the command line, after those of the table
  std::vector<NamedPlan> plans;  // likewise, after the standard ones
  std::vector<std::string> figures;  // "all", "wu", "wu/fig8"; none = cells are run
  int log2_scale = 0;
  int calls = 0;  // timed calls each; 0 = by the cell's size
  bool self_check = false;
  bool kernels = false;      // trace the kernels of one more call of each benchmark
  bool flush_cache = false;  // overwrite a buffer larger than the L2 cache before every call
};

struct Session {
  Session(Machine& machine_, const Options& options_);

  Machine& machine;
  Options options;
  Context context;
  CellDataSource data;
  double copy_bandwidth;                // GB/s
  KernelTrace* kernel_trace = nullptr;  // where kernels are traced
  TracedKernels kernels;
  bool has_failed = false;
  std::string lost;  // why nothing more can run on the device; empty while it can
};

// Registers cell/<name>/<plan>, cell by cell. The session outlives the run.
void register_cells(Session& session);

// Registers <paper>/<figure>/<panel>/<series>/<point> of the figures that the options name.
void register_figures(Session& session);

}  // namespace gpujoin::bench
