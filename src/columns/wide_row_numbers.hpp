// wide_row_numbers.hpp: row numbers of a result as int64, for callers who ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/fetch_page.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// Row numbers as int64 in host memory, where they are widened in place.
void write_wide_on_host(base::Queue& queue, const JoinResult& result, const std::byte* source,
                        int64_t rows, std::byte* target, base::Memory target_memory);

// Row numbers as int64 in device memory, where they are widened: at the memory's speed, and none
// comes to the host. Those of a result in host memory go over the link as uint32, in pieces.
void write_wide_on_device(base::Queue& queue, const JoinResult& result, const std::byte* source,
                          int64_t rows, std::byte* target, WidenOnDevice widen);

// The caller's own row numbers, which come as int64, by way of the host. bits: of the rows that are
// there, from bit 0 on; empty: all are. width: of a number in the target. Throws TYPE, naming
// `argument`, for one that 4 bytes do not hold.
void write_numbers_of_caller(base::Queue& queue, const JoinResult& result, const std::byte* source,
                             int64_t rows, const std::vector<uint8_t>& bits, std::byte* target,
                             base::Memory target_memory, int32_t width,
                             const std::string& argument);

}  // namespace gpujoin::columns
