// sample_keys.hpp: key sampling on the device, by the rule in src/plan/key_sample.hpp.
#pragma once

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/plan/key_sample.hpp"

namespace gpujoin::sample {

// Both key columns lie in device memory. Waits for the stream once.
plan::SampleFindings sample_keys(base::Queue& queue, const columns::ColumnView& build_key,
                                 int64_t build_rows, const columns::ColumnView& probe_key,
                                 int64_t probe_rows,
                                 plan::SampleEffort effort = plan::SampleEffort::kCounted);

}  // namespace gpujoin::sample
