// sorted_rows.hpp: whether rows lie in the order of their keys.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/keys/sorted_rows.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

// The lowest row of each kind of step, UINT64_MAX: there is none.
using SortedFindings = std::array<uint64_t, kernels::kSortedFindings>;

// The first row that is not behind the one before it. A column's NULLs may lie before its values or
// behind them, and not here before and there behind.
inline std::optional<uint64_t> first_unsorted(const SortedFindings& lowest) {
  uint64_t first = lowest[0];
  for (size_t i = 1; i < lowest.size(); i += 2) {
    uint64_t const second = lowest[i] > lowest[i + 1] ? lowest[i] : lowest[i + 1];
    if (second < first) first = second;
  }
  return first == UINT64_MAX ? std::nullopt : std::optional(first);
}

// On the GPU. Waits for the stream.
SortedFindings find_steps(base::Queue& queue, const kernels::SortedColumns& keys, uint64_t rows);

}  // namespace gpujoin::keys
