// key_ranges.hpp: the keys of both sides whose ranges are asked for, and the answer, as host and
// device both see them
#pragma once

#include <cstdint>

#include "kernels/host_answer.hpp"
#include "kernels/keys/valid_rows.hpp"

namespace gpujoin::kernels {

// Rows are asked by stripes of kStreamThreads, which begin at multiples of a step: in units of
// 2^-kStepBits rows, rounded up by less than would move the last one, so that it ends where the
// side does.
constexpr int kStepBits = 24;
struct RangedSide {
  const void* columns[kMostKeyColumns];
  ValidRows valid;
  uint32_t rows;
  uint32_t stripes;
  uint64_t step;
};

struct RangedKeys {
  RangedSide sides[2];
  int32_t widths[kMostKeyColumns];
  int32_t count;
};

constexpr int kMostRanges = 2 * kMostKeyColumns;

// Of each side one after the other, while blocks add theirs; 0 where none did.
struct KeyRangesState {
  unsigned long long inverted_lows[kMostRanges];
  unsigned long long highs[kMostRanges];
  uint32_t finished;  // blocks
};

// Values with their sign turned, zero-extended. low > high: there is none.
struct KeyRanges {
  unsigned long long lows[kMostRanges];
  unsigned long long highs[kMostRanges];
};

using KeyRangesAnswer = HostAnswer<KeyRanges>;

}  // namespace gpujoin::kernels
