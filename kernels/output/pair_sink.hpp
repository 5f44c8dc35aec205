// pair_sink.hpp: what host and device share about the output of a match: where pairs go, how far they got, where blocks stopped.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

struct PairCounters {
  unsigned long long reserved;  // pairs reserved so far, refused ones included
  unsigned long long filled;    // lowest refused base; ~0: nothing was refused
  unsigned long long taken;     // work units given out
};

struct PairSink {
  uint32_t* build_out;
  uint32_t* probe_out;
  uint64_t capacity;  // pairs
  PairCounters* counters;
  // Original row of each build and probe position, or null: positions are written.
  const uint32_t* build_row_ids;
  const uint32_t* probe_row_ids;
};

// Where a block of a persistent grid stopped for want of room; the next launch takes it up there.
struct ResumePoint {
  unsigned long long unit;  // kNoUnit: take a new one
  uint32_t batch;
  uint32_t reserved;
};
constexpr unsigned long long kNoUnit = ~0ULL;

}  // namespace gpujoin::kernels
