// library_call.hpp: calls of the library during which what it asks of the system may fail.
#pragma once

#include "tests/abi/fixture.hpp"
#include "tests/simulator/failing_calls.hpp"

namespace gpujoin_test {

template <typename Function, typename... Arguments>
Answer ask(Function function, Arguments... arguments) {
  InLibrary const in_library;
  return call(function, arguments...);
}

}  // namespace gpujoin_test
