// sorted_rows.hpp: whether rows lie in the order of their keys: on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "src/cpu/workers.hpp"
#include "src/keys/sorted_rows.hpp"

namespace gpujoin::cpu {

inline keys::SortedFindings find_steps(Workers& workers, const kernels::SortedColumns& columns,
                                       uint64_t rows) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  keys::SortedFindings lowest;
  lowest.fill(UINT64_MAX);
  std::mutex mutex;
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    keys::SortedFindings own;
    own.fill(UINT64_MAX);
    for (uint64_t row = std::max<uint64_t>(first, 1); row < end; ++row) {
      int32_t column = 0;
      kernels::SortedStep const step = kernels::step_to(columns, row, &column);
      if (step == kernels::SortedStep::kNone) continue;
      uint64_t& found = own[static_cast<size_t>(kernels::finding_of(step, column))];
      found = std::min(found, row);
    }
    std::lock_guard const lock(mutex);
    for (size_t i = 0; i < own.size(); ++i) lowest[i] = std::min(lowest[i], own[i]);
  });
  return lowest;
}

}  // namespace gpujoin::cpu
