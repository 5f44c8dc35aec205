// pair_filter.hpp: what pairs must pass before they belong to the output.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {
struct PairQuestion;
}

namespace gpujoin::output {

// Candidate pairs that are written before they are filtered, 8 bytes each: fewer cost a launch for
// each few, more cost memory. A match that finds all of them stops and is taken up again.
inline constexpr uint64_t kCandidatePairs = uint64_t{1} << 26;

class PairFilter {
 public:
  PairFilter() = default;
  virtual ~PairFilter() = default;
  PairFilter(const PairFilter&) = delete;
  PairFilter& operator=(const PairFilter&) = delete;

  // build, probe: [pairs] row numbers on the device. Those that pass come to the front, in their
  // order; answers how many. Waits for the stream. Throws.
  virtual uint64_t keep(uint32_t* build, uint32_t* probe, uint64_t pairs) = 0;

  // What a match that can may ask of its pairs itself; then none is left for keep. null: nothing.
  virtual const kernels::PairQuestion* question() const { return nullptr; }
};

}  // namespace gpujoin::output
