// close_chunks.hpp: which rows fill the holes of chunks, as host and device both see it.
#pragma once

#include <cstdint>

#include "kernels/host_answer.hpp"
#include "kernels/match/carried_columns.hpp"

namespace gpujoin::kernels {

// Of `count` neighbouring parts, each: how many rows the parts before it have, and its first place.
struct ChunkParts {
  unsigned long long* before;  // [count + 1]
  unsigned long long* places;  // [count]
  uint32_t* count;
};

// As many rows as the holes below the last row have come from behind it.
struct ChunkMoves {
  ChunkParts holes;
  ChunkParts sources;
};

using ChunkAnswer = HostAnswer<CarriedCounters>;

}  // namespace gpujoin::kernels
