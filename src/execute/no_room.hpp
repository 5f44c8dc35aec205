// no_room.hpp: joins that failed for want of memory.
#pragma once

#include "src/base/status.hpp"

namespace gpujoin::execute {

// Whether a plan that needs less memory may do what failed so.
inline bool is_no_room(const base::Error& error) {
  return error.status() == GPUJOIN_ERROR_MEMORY_LIMIT ||
         error.status() == GPUJOIN_ERROR_OUT_OF_MEMORY;
}

}  // namespace gpujoin::execute
