// carried_columns.hpp: the match that writes output columns, of partitions whose payloads moved
// with their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/queue.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// One side: mixed keys in contiguous partitions.
struct CarriedSide {
  const void* keys = nullptr;         // [rows]
  const uint32_t* offsets = nullptr;  // [2^radix_bits + 1]
  uint32_t rows = 0;
};

// A side whose rows without a match are put out, too, by columns of their own.
struct KeptSide {
  const std::vector<CarriedOutput>* outputs =
      nullptr;  // as of the probe side; null: it is not kept
  WrittenRows written;
};
struct KeptSides {
  KeptSide build;
  KeptSide probe;
  // The join's columns are row numbers alone: the rows are put among the pairs, where their number
  // of the other side is GPUJOIN_NO_ROW, and nothing is written of the sides' own outputs. Out:
  // whether they were.
  bool among_pairs = false;
  bool any() const { return build.outputs != nullptr || probe.outputs != nullptr; }
};

// Writes every column of the join. Waits for the match; holes of the columns may still be filled,
// so that who reads them belongs on the stream. Room is left behind them for the rows of sides that
// are kept. most_rows: as of ChunkedColumns. Throws OUT_OF_MEMORY, MEMORY_LIMIT or ROW_LIMIT.
WrittenRows carried_columns(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs, KeptSides* kept,
                            uint64_t most_rows = 0);

}  // namespace gpujoin::match
