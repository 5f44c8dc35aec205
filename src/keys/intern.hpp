// intern.hpp: codes for the values of two columns of byte strings, on the GPU.
#pragma once

#include "src/base/queue.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::keys {

// Of columns that lie on the device. Queued on the stream. A table takes 32 bytes a row. All throw
// MEMORY_LIMIT or OUT_OF_MEMORY.
Interned intern(base::Queue& queue, const InternedSide& table);
base::Buffer codes_by(base::Queue& queue, const ValueTable& table, const InternedSide& other);

}  // namespace gpujoin::keys
