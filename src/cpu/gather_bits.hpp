// gather_bits.hpp: bits by row number, in parallel: columns of them, and validity of any column.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/gathered.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// target[i] = source[rows[i]], of GPUJOIN_NO_ROW NULL; rows null = the identity. The source lies in
// host memory. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
columns::Gathered gather_bits(base::Queue& queue, Workers& workers, const char* stage,
                              const columns::BitsSource& source, const uint32_t* rows,
                              uint64_t count);

// Which rows of an output column have a value: a bit each, in words of 64. Empty: all have.
base::Buffer allocate_validity(base::Queue& queue, const kernels::ValidityBits& source,
                               const uint32_t* rows, uint64_t count);
// Fills it for the rows `first` to `end` and returns how many are NULL. expected: `first` begins a
// word, `end` ends one or is the last row's.
int64_t gather_validity(const kernels::ValidityBits& source, const uint32_t* rows, uint64_t first,
                        uint64_t end, uint64_t* words);

}  // namespace gpujoin::cpu
