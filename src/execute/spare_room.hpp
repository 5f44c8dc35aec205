// spare_room.hpp: memory of the CPU executor for what makes a join faster, and which it can do
// without.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/execute/built.hpp"

namespace gpujoin::execute {

// Whether so many bytes more than there have to be may be taken: a limit that was enough is.
inline bool has_spare_room(const JoinStep& step, uint64_t bytes) {
  base::Account const& account = step.queue.host_pool->account();
  uint64_t const limit = account.limit_bytes();
  return limit == 0 || bytes <= (limit - std::min(account.in_use_bytes(), limit)) / 4;
}

}  // namespace gpujoin::execute
