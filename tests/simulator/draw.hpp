// draw.hpp: what an engine does in one simulated run, drawn from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/side_table.hpp"

namespace gpujoin_test {

enum class OperationEnd {
  kWhole,
  kProbeDestroyed,      // one of its probes, before its last result
  kOperationDestroyed,  // before it is closed; its probes go on
  kCancelled,           // by another thread
  kDeadline             // of a millisecond
};

enum class BuildEnd {
  kWhole,
  kDestroyed,       // while operations run
  kCancelledLate,   // the same
  kCancelledEarly,  // while batches come
  kDeadline
};

enum class Spill { kNone, kRoom, kFull };

struct OperationDraw {
  gpujoin_join_kind kind = GPUJOIN_JOIN_INNER;
  bool build_left = false;
  TableDraw probe;
  int threads = 1;
  int64_t batch_rows = 1;
  double flushes = 0;  // after an append
  double asks = 0;     // for results, after an append
  bool closes_early = false;
  int next_threads = 1;
  OperationEnd end = OperationEnd::kWhole;
  int64_t cancelled_after_microseconds = 0;
  gpujoin_own_filter own_filter = GPUJOIN_OWN_FILTER_AUTOMATIC;  // ON: where the kind allows one
};

struct RunDraw {
  uint64_t seed = 0;
  TableDraw build;
  bool null_equal = false;
  bool has_numbers = true;
  int threads = 1;
  int64_t batch_rows = 1;
  BuildEnd end = BuildEnd::kWhole;
  int32_t cpu_threads = 1;
  uint64_t host_limit = 0;
  uint64_t device_limit = 0;  // the last two of a GPU
  uint64_t pinned_limit = 0;
  Spill spill = Spill::kNone;
  // Of the finished build, whose own rows it tests.
  bool asks_filter = false;
  gpujoin_key_filter_kind filter_kind = GPUJOIN_KEY_FILTER_AUTOMATIC;
  std::vector<OperationDraw> operations;  // at the same time

  bool has_limit() const { return (host_limit | device_limit | pinned_limit) != 0; }
  std::string text() const;
};

RunDraw draw_run(uint64_t seed, gpujoin_device device);

}  // namespace gpujoin_test
