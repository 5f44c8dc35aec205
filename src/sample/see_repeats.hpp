// see_repeats.hpp: a glance at both sides' keys, by the rule in src/plan/side_rule.hpp.
#pragma once

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/plan/side_rule.hpp"

namespace gpujoin::sample {

// Both key columns lie in device memory, each of 1024 rows at least. Waits for its answer,
// not for the stream.
plan::SeenRepeats see_repeats(base::Queue& queue, const columns::ColumnView& build_key,
                              int64_t build_rows, const columns::ColumnView& probe_key,
                              int64_t probe_rows);

}  // namespace gpujoin::sample
