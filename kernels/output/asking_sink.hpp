// asking_sink.hpp: what host and device share where a match asks a condition of each pair itself,
// before it puts the pair out
#pragma once

#include <cstdint>

#include "kernels/conditions/pair_comparisons.hpp"
#include "kernels/output/pair_sink.hpp"

namespace gpujoin::kernels {

struct PairQuestion {
  PairComparisons comparisons;
  bool build_is_left;
  // The comparisons' columns, and marks, lie in the order of positions; else in that of row ids.
  bool by_position;
  // A byte for each row of a side, which becomes 1 of those with a pair; null: none is wanted.
  uint8_t* marked;
  bool marks_build;
  bool keeps_pairs;  // they are written, besides
};

// Of AskingEmitter `reserved` is what was granted: room for all candidates of a batch, before it is
// known which are kept.
struct AskingCounters : PairCounters {
  unsigned long long dropped;  // of those granted, the pairs that the condition is not true of
  unsigned long long kept;     // places given to pairs
};

// Of AskingEmitter.
struct AskingSink : PairTarget {
  uint64_t capacity;  // pairs
  AskingCounters* counters;
  PairQuestion question;
};

}  // namespace gpujoin::kernels
