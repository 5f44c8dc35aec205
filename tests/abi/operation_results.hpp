// operation_results.hpp: an operation with a probe, and the results of either that are there.
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

// Appends a batch, and hands to `use` the results that have to be taken before it can be, and those
// that are there then.
template <typename Use>
void append_and_take(gpujoin_probe* probe, const Relation& batch, const Use& use) {
  Answer answer;
  while ((answer = call(gpujoin_probe_append, probe, batch.get(), int64_t{0})).status ==
         GPUJOIN_ERROR_NOT_READY) {
    ASSERT_OK(take_results(probe, gpujoin_probe_next, use));
  }
  ASSERT_OK(answer);
  ASSERT_OK(take_results(probe, gpujoin_probe_next, use));
}

struct BegunJoin {
  Build build;
  Operation operation;
  Probe probe;
};

// An inner join by the first column, of a build of `rows` with probes of rows like them, whose keys
// come out.
inline void begin_join(const Context& context, const Relation& rows, BegunJoin* join) {
  static constexpr int32_t kKey[] = {0};
  const int32_t* const no_flags = nullptr;
  gpujoin_build* build = nullptr;
  ASSERT_OK(
      call(gpujoin_build_create, context.get(), rows.get(), kKey, 1, no_flags, nullptr, &build));
  join->build.reset(build);
  ASSERT_OK(call(gpujoin_build_append, build, rows.get(), int64_t{0}));
  ASSERT_OK(call(gpujoin_build_finish, build));
  Spec keys;
  keys.left_columns = {0};
  gpujoin_join_spec const spec = keys.get();
  gpujoin_operation* operation = nullptr;
  ASSERT_OK(call(gpujoin_operation_create, build, rows.get(), &spec, nullptr, &operation));
  join->operation.reset(operation);
  gpujoin_probe* probe = nullptr;
  ASSERT_OK(call(gpujoin_probe_create, operation, &probe));
  join->probe.reset(probe);
}

}  // namespace gpujoin_test
