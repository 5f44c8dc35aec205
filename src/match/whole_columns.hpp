// whole_columns.hpp: output columns with room for all rows from the start.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/queue.hpp"
#include "src/match/chunked_columns.hpp"

namespace gpujoin::match {

// Memory for so many rows of each output, of which the join is told.
template <typename Join>
std::vector<base::Buffer> start_columns(base::Queue& queue, uint64_t rows,
                                        const std::vector<CarriedOutput>& outputs, Join* join) {
  std::vector<base::Buffer> columns;
  join->column_count = static_cast<int32_t>(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    columns.push_back(queue.device_pool->allocate(
        base::Memory::kDevice, base::checked_bytes(rows, static_cast<uint64_t>(outputs[i].width)),
        "an output column"));
    join->columns[i] = {outputs[i].source, columns[i].data(), outputs[i].width, outputs[i].from};
  }
  return columns;
}

inline void hand_over(std::vector<base::Buffer> columns,
                      const std::vector<CarriedOutput>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    *outputs[i].target = columns::make_storage(std::move(columns[i]));
  }
}

}  // namespace gpujoin::match
