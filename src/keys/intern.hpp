// intern.hpp: codes for the values of two columns of byte strings, on the GPU.
#pragma once

#include "src/base/queue.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::keys {

// Of columns that lie on the device. Queued on the stream; while it runs, 16 bytes a row of the
// table's side are taken. Throws MEMORY_LIMIT or OUT_OF_MEMORY.
Codes intern(base::Queue& queue, const InternedSide& table, const InternedSide& other);

}  // namespace gpujoin::keys
