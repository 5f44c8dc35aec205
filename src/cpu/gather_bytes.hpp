// gather_bytes.hpp: values of any number of bytes by row number, in parallel.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/gathered.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// target[i] = source[rows[i]], of GPUJOIN_NO_ROW NULL; rows null = the identity. The source lies in
// host memory. Offsets have 8 bytes where the source's have, or where there are more than
// most_narrow_bytes; values of views come out with offsets. Lengths are read twice, before and with
// the copy: the memory is allocated as it is needed, and 8 bytes for 1024 rows.
// Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
columns::Gathered gather_bytes(base::Queue& queue, Workers& workers, const char* stage,
                               const columns::GatherSource& source, const uint32_t* rows,
                               uint64_t count);

}  // namespace gpujoin::cpu
