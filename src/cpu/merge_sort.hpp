// merge_sort.hpp: a parallel sort by comparison, for what has no bits to sort by: runs of rows are
// sorted, and merged pairwise in tiles that a merge path cuts (Green et al., "Merge Path", 2014).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// How many of the first `from_both` values of two sorted lists, merged, are of the first one.
template <typename Value, typename Less>
uint64_t merge_path(const Value* one, uint64_t ones, const Value* other, uint64_t others,
                    uint64_t from_both, const Less& less) {
  uint64_t low = from_both > others ? from_both - others : 0;
  uint64_t high = std::min(from_both, ones);
  while (low < high) {
    uint64_t const middle = (low + high) / 2;
    if (less(other[from_both - 1 - middle], one[middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Sorts `values`; `scratch` has room for as many. Not stable.
template <typename Value, typename Less>
void merge_sort(Workers& workers, const char* stage, Value* values, Value* scratch, uint64_t count,
                const Less& less) {
  constexpr uint64_t kTile = uint64_t{1} << 14;
  auto const threads = static_cast<uint64_t>(workers.threads());
  uint64_t const run = std::max(kTile, (count + 8 * threads - 1) / (8 * threads));
  workers.for_each_range(stage, count, run, [&](uint64_t first, uint64_t end) {
    std::sort(values + first, values + end, less);
  });
  Value* from = values;
  Value* to = scratch;
  for (uint64_t sorted = run; sorted < count; sorted *= 2) {
    workers.for_each_range(stage, count, kTile, [&](uint64_t first, uint64_t end) {
      // A tile may end in the next pair of runs.
      while (first < end) {
        uint64_t const pair = first / (2 * sorted) * (2 * sorted);
        uint64_t const middle = std::min(count, pair + sorted);
        uint64_t const behind = std::min(count, pair + 2 * sorted);
        uint64_t const last = std::min(end, behind);
        auto const split = [&](uint64_t place) {
          return merge_path(from + pair, middle - pair, from + middle, behind - middle,
                            place - pair, less);
        };
        uint64_t const one = pair + split(first);
        uint64_t const one_end = pair + split(last);
        std::merge(from + one, from + one_end, from + middle + (first - one),
                   from + middle + (last - one_end), to + first, less);
        first = last;
      }
    });
    std::swap(from, to);
  }
  if (from == values) return;
  workers.for_each_range(stage, count, kTile, [&](uint64_t first, uint64_t end) {
    std::copy(from + first, from + end, values + first);
  });
}

}  // namespace gpujoin::cpu
