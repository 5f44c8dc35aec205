// nested_loop.hpp: every row of a list with every row of another one, in tiles of inner rows that
// stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/cpu/pair_batches.hpp"
#include "src/cpu/ranged_rows.hpp"

namespace gpujoin::cpu {

inline void nested_loop(Workers& workers, const RowList& outer, const RowList& inner,
                        PairTaker& taker) {
  constexpr uint64_t kTileRows = uint64_t{1} << 13;
  // Of outer rows: a task is to end within milliseconds, since cancellation waits for it.
  constexpr uint64_t kTaskRows = 64;
  std::vector<uint32_t> tile(std::min(inner.count, kTileRows));
  for (uint64_t first = 0; first < inner.count; first += kTileRows) {
    uint64_t const rows = std::min(kTileRows, inner.count - first);
    for (uint64_t i = 0; i < rows; ++i) tile[i] = inner.row(first + i);
    PairBatches batches(workers, taker);
    batches.for_outer_rows(
        outer.count,
        [&](uint64_t i, int32_t worker) { batches.add(worker, outer.row(i), tile.data(), rows); },
        kTaskRows);
    batches.finish();
  }
}

}  // namespace gpujoin::cpu
