// filter_keys.hpp: rows that cannot match left out before the transform moves them.
#pragma once

#include <cstdint>

#include "kernels/transform/key_range.hpp"
#include "src/base/queue.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

enum class Filtered {
  // Probe rows whose key no build row has, and build rows whose key is known to lie beyond the
  // probe side's range.
  kBoth,
  // Build rows whose key no probe row has: the probe side stays where it is.
  kBuild,
};

// Both leave out rows, and wait for the stream. Keys must not be mixed.

// Of either side's keys, more or less: whether one lies outside, or a build key between the steps
// from the lowest one of that range on, is found on the way, and costs the filter once more.
struct ExpectedRanges {
  kernels::KeyRange build;
  kernels::KeyRange probe;
};

// By a bit for each key that both sides may have: exactly. expected: null, and all keys are looked
// at before. False, and nothing was done: those are too far apart for a bit each.
bool filter_by_bits(base::Queue& queue, Filtered filtered, const ExpectedRanges* expected,
                    PreparedKeys* build, PreparedKeys* probe);

// By a bit for each hash, of traffic::hash_filter_places: some rows without a match stay.
void filter_by_hashes(base::Queue& queue, Filtered filtered, PreparedKeys* build,
                      PreparedKeys* probe);

}  // namespace gpujoin::transform
