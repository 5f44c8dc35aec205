// counted_units.hpp: two passes (Rui & Tu 3.2.2, Algorithm 3's traditional way): count, sum, write.
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::papers {

// Launch with counting_sink() and a CountingEmitter, then with placing_sink() and a PlacingEmitter;
// nothing is collected.
class CountedUnits {
 public:
  // units: a number that no work unit reaches.
  CountedUnits(base::Queue& queue, uint64_t units, output::GrowingPairs& pairs);

  // The row ids of a sink are the caller's to set.
  kernels::UnitSink counting_sink();
  // Waits for the counts, sums them, makes exactly the room they need and sets pairs.rows(). Throws
  // OUT_OF_MEMORY or MEMORY_LIMIT.
  kernels::UnitSink placing_sink();

 private:
  kernels::UnitSink sink();

  base::Queue& queue_;
  output::GrowingPairs& pairs_;
  uint64_t units_;
  base::Buffer
      // [units + 2]: their sum follows the counts, and the number of units taken follows that
      counts_;
};

}  // namespace gpujoin::papers
