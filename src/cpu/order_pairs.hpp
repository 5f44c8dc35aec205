// order_pairs.hpp: pairs of row numbers in the order of the rows of one side.
//
// Source   radix sort: most significant bits first to parts that a core's cache holds, with a
//          histogram for each task; then least significant first, part by part
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct OrderedPairs {
  base::Buffer first;  // [count] uint32
  base::Buffer second;
};

// By the first, then by the second; GPUJOIN_NO_ROW behind all others. Nothing where they are in
// that order. first_rows: row numbers of the first are below it. Beside what it makes, 16 bytes a
// pair. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
std::optional<OrderedPairs> order_pairs(base::Queue& queue, Workers& workers, const uint32_t* first,
                                        uint32_t first_rows, const uint32_t* second,
                                        uint64_t count);

}  // namespace gpujoin::cpu
