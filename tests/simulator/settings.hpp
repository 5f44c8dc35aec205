// settings.hpp: how long the simulator runs, from the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gpujoin_test {

inline int64_t setting(const char* name, int64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::atoll(given);
}

}  // namespace gpujoin_test
