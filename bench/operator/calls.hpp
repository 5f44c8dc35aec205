// calls.hpp: what the benchmarks of builds and probes ask the library alike, through the C ABI
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpujoin.h"

namespace gpujoin::bench {

using Clock = std::chrono::steady_clock;

inline double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline gpujoin_error error;  // of the main thread

// The end of the program, with what was told.
inline void check(gpujoin_status status, const gpujoin_error& told = error) {
  if (status == GPUJOIN_OK) return;
  std::fprintf(stderr, "%s: %s\n", gpujoin_status_name(status), told.message);
  std::exit(1);
}

// A relation of columns of integers without NULLs.
template <typename Value, size_t kCount>
gpujoin_relation* integers(gpujoin_context* context, const Value* const (&data)[kCount],
                           int64_t rows, gpujoin_memory memory = GPUJOIN_MEMORY_HOST) {
  static_assert(sizeof(Value) == 4 || sizeof(Value) == 8);
  gpujoin_column columns[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    columns[i] = GPUJOIN_COLUMN_INIT;
    columns[i].name = "column";
    columns[i].type = sizeof(Value) == 4 ? GPUJOIN_TYPE_INT32 : GPUJOIN_TYPE_INT64;
    columns[i].data = data[i];
    columns[i].memory = memory;
  }
  gpujoin_relation* relation = nullptr;
  gpujoin_error told;
  check(gpujoin_relation_create(context, rows, columns, kCount, &relation, &told), told);
  return relation;
}

inline constexpr int32_t kKey[] = {0};
inline constexpr int32_t kColumns[] = {0, 1, 2, 3};

// Of these rows, by their first column, finished.
inline gpujoin_build* build_of(gpujoin_context* context, gpujoin_relation* rows) {
  gpujoin_build* build = nullptr;
  check(gpujoin_build_create(context, rows, kKey, 1, nullptr, nullptr, &build, &error));
  check(gpujoin_build_append(build, rows, 0, &error));
  check(gpujoin_build_finish(build, &error));
  return build;
}

// Rows of all results that are there. next: gpujoin_probe_next or gpujoin_operation_next.
template <typename From>
int64_t drain(From* from,
              gpujoin_status (*next)(From*, gpujoin_state*, gpujoin_result**, gpujoin_error*),
              gpujoin_error* told) {
  int64_t found = 0;
  for (;;) {
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    gpujoin_result* result = nullptr;
    check(next(from, &state, &result, told), *told);
    if (state != GPUJOIN_STATE_READY) return found;
    int64_t rows = 0;
    check(gpujoin_result_get_rows(result, &rows, told), *told);
    found += rows;
    gpujoin_result_destroy(result);
  }
}

}  // namespace gpujoin::bench
