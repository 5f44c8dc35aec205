// exclusive_sum.hpp: counts to offsets.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"

namespace gpujoin::output {

// Each of `count` numbers in device memory becomes the sum of those before it. Queued on the
// stream.
void exclusive_sum(base::Queue& queue, unsigned long long* numbers, uint64_t count);

}  // namespace gpujoin::output
