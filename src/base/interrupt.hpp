// interrupt.hpp: what ends the calls on one object, of which a context has many.
#pragma once

#include <atomic>

namespace gpujoin::base {

struct Interrupt {
  std::atomic<bool> is_cancelled{false};
};

}  // namespace gpujoin::base
