// operation_results.hpp: the results of a probe or of an operation that are there.
#pragma once

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {

// Hands each to `use`; the answer of the call that had none: OK, or what ended it.
template <typename From, typename Next, typename Use>
Answer take_results(From* from, Next next, const Use& use) {
  for (;;) {
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    gpujoin_result* made = nullptr;
    Answer const answer = call(next, from, &state, &made);
    Result const result(made);
    if (answer.status != GPUJOIN_OK || state != GPUJOIN_STATE_READY) return answer;
    use(result);
  }
}

}  // namespace gpujoin_test
