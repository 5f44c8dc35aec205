// merge_bounds.hpp: what the kernels of every kind of bounds need.
#pragma once

#include <cstdint>

#include "src/match/match.hpp"

namespace gpujoin::match {

struct MergeBounds {
  int32_t key_width = 0;
  MatchSide build;
  MatchSide probe;
  unsigned tiles = 0;
  unsigned split_blocks = 0;
  uint32_t* splits = nullptr;  // [tiles + 1]
  // Where the ranges of the probe rows go.
  uint32_t* lower = nullptr;
  uint32_t* counts = nullptr;
};

}  // namespace gpujoin::match
