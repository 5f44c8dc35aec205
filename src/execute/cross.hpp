// cross.hpp: cross joins: the row numbers of every pair, and columns by them.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// On the executor of the plan. Throws OUT_OF_MEMORY also for more rows than can be counted.
void cross(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

// The GPU's part, in cross_cuda.cpp.
void cross_pairs_on_gpu(base::Queue& queue, uint64_t rows, uint32_t right_rows, uint32_t* left,
                        uint32_t* right);

}  // namespace gpujoin::execute
