// intern.hpp: codes for the values of two columns of byte strings, on the CPU.
#pragma once

#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::cpu {

// Of columns that lie in host memory. A table takes 45 bytes a row. All throw MEMORY_LIMIT,
// OUT_OF_MEMORY or CANCELLED.
keys::Interned intern(base::Queue& queue, Workers& workers, const keys::InternedSide& table);
base::Buffer codes_by(base::Queue& queue, Workers& workers, const keys::ValueTable& table,
                      const keys::InternedSide& other);

}  // namespace gpujoin::cpu
