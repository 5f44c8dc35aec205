// intern.hpp: codes for the values of two columns of byte strings, on the CPU.
#pragma once

#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::cpu {

// Of columns that lie in host memory. While it runs, 45 bytes a row of the table's side are taken.
// Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
keys::Codes intern(base::Queue& queue, Workers& workers, const keys::InternedSide& table,
                   const keys::InternedSide& other);

}  // namespace gpujoin::cpu
