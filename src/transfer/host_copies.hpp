// host_copies.hpp: copies within host memory, by as many threads as it takes.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"

namespace gpujoin::transfer {

// Returns when the copy is complete. Throws CANCELLED.
void copy_on_host(base::Queue& queue, void* target, const void* source, uint64_t bytes);

}  // namespace gpujoin::transfer
