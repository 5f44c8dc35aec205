// joins.hpp: what the tests of whole joins have in common: a context or none, what is asked for,
// how it is named.
#pragma once

#include <memory>

#include "src/base/status.hpp"
#include "src/execute/execute.hpp"
#include "tests/join/random_relation.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {

// None where the device cannot be used.
inline OwnQueue open_queue(const gpujoin_context_options& options) {
  try {
    return OwnQueue(options);
  } catch (const base::Error& error) {
    if (error.status() == GPUJOIN_ERROR_NO_DEVICE) return {};
    throw;
  }
}

inline OwnQueue open_queue(gpujoin_device device, uint64_t limit = 0) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.memory_limit_bytes = limit;
  return open_queue(options);
}

// The options that name every technique and number of the plan, but radix bits.
inline gpujoin_plan_options options_of(const plan::JoinPlan& plan) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.device = static_cast<gpujoin_device>(plan.device);
  options.transfer = static_cast<gpujoin_transfer>(plan.transfer);
  options.transform = static_cast<gpujoin_transform>(plan.transform);
  options.filter = static_cast<gpujoin_filter>(plan.filter);
  options.skew = static_cast<gpujoin_skew>(plan.skew);
  options.match = static_cast<gpujoin_match>(plan.match);
  options.output = static_cast<gpujoin_output>(plan.output);
  options.gather = static_cast<gpujoin_gather>(plan.gather);
  options.build_side = static_cast<gpujoin_side>(plan.build_side);
  options.passes = plan.passes;
  options.page_pairs = plan.page_pairs;
  options.probe_chunk_rows = plan.probe_chunk_rows;
  return options;
}

// Of a selection with `pairs` and output columns `left` and `right`; columns are materialized when
// there are any.
template <typename Selection>
columns::JoinSpec spec_of(const Selection& selection) {
  columns::JoinSpec spec;
  spec.pairs = selection.pairs;
  spec.materialize = !selection.left.empty() || !selection.right.empty();
  spec.left_columns = selection.left;
  spec.right_columns = selection.right;
  return spec;
}

}  // namespace gpujoin::tests
