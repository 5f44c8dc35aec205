// positions.hpp: which value of a dictionary, or of a column of runs, each row has: on the CPU.
#pragma once

#include <cstdint>

#include "kernels/keys/positions.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// [rows] uint32. Source: kernels::Indices, Runs or Composed, of host memory.
template <typename Source>
base::Buffer positions(base::Queue& queue, Workers& workers, const Source& source, uint64_t rows) {
  constexpr uint64_t kTaskRows = uint64_t{1} << 16;
  base::Buffer found = queue.host_pool->allocate_rows<uint32_t>(base::Memory::kHost, rows,
                                                                "positions of a column's values");
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; ++row) {
      found.as<uint32_t>()[row] = kernels::position_of(source, row);
    }
  });
  return found;
}

}  // namespace gpujoin::cpu
