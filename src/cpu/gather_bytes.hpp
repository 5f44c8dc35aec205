// gather_bytes.hpp: values of any number of bytes by row number, in parallel.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/gathered.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// target[i] = source[rows[i]], of GPUJOIN_NO_ROW NULL; rows null = the identity. The source lies in
// host memory. Offsets have 8 bytes where the source's have, or where there are more than
// most_narrow_bytes; values of views come out with offsets. Beside what comes out, 4 bytes a row
// say where values of 4-byte offsets lie, 8 of the others.
// Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
columns::Gathered gather_bytes(base::Queue& queue, Workers& workers, const char* stage,
                               const columns::GatherSource& source, const uint32_t* rows,
                               uint64_t count);

}  // namespace gpujoin::cpu
