#include "src/cpu/lowest_places.hpp"

#include <algorithm>

namespace gpujoin::cpu {

LowestPlaces::LowestPlaces(base::Queue& queue, Workers& workers, const uint32_t* seconds,
                           uint64_t count)
    : levels_{seconds} {
  constexpr uint64_t kTaskNodes = 4096;
  // The last level is one node.
  for (uint64_t rows = count; rows >= kChildren; rows /= kChildren) {
    uint64_t const nodes = rows / kChildren + 1;
    uint64_t const places = padded(rows / kChildren);
    kept_.push_back(queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, places,
                                                             "lowest places of a level"));
    auto* const lows = kept_.back().as<uint32_t>();
    const uint32_t* const of_children = levels_.back();
    std::fill(lows + nodes, lows + places, UINT32_MAX);
    workers.for_each_range("sort", nodes, kTaskNodes, [&](uint64_t first, uint64_t end) {
      for (uint64_t node = first; node < end; ++node) {
        const uint32_t* const children = of_children + node * kChildren;
        lows[node] = *std::min_element(children, children + kChildren);
      }
    });
    levels_.push_back(lows);
  }
}

}  // namespace gpujoin::cpu
