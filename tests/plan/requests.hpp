// requests.hpp: the joins that the planner's tests ask about, and the device they run on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan::testing {

inline base::DeviceFacts h200() {
  base::DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.is_cuda = true;
  facts.cuda_device_id = 0;
  facts.sm_count = 132;
  facts.compute_capability = 90;
  facts.cpu_threads = 16;
  facts.memory_bytes = uint64_t{139} << 30;
  facts.l2_bytes = 60'000'000;
  facts.shared_bytes_per_block = 227 << 10;
  base::builtin_rates(facts);
  return facts;
}

// left is the build side of the measured tables (R), right the probe side (S). The key is put out
// once.
inline PlanRequest request_of(int64_t left_rows, int64_t right_rows, int32_t payloads_a_side,
                              int32_t key_width = 4, int32_t payload_width = 4) {
  PlanRequest request;
  request.left.rows = left_rows;
  request.right.rows = right_rows;
  request.left.key_width = request.right.key_width = key_width;
  request.left.payload_widths.assign(static_cast<size_t>(payloads_a_side), payload_width);
  request.right.payload_widths = request.left.payload_widths;
  request.left.key_is_output = true;
  return request;
}

inline PlanRequest pairs_request(int64_t left_rows, int64_t right_rows, int32_t key_width = 4) {
  PlanRequest request = request_of(left_rows, right_rows, 0, key_width);
  request.left.key_is_output = false;
  request.pairs = true;
  return request;
}

// A foreign-key join: unique build keys.
inline SampleStatistics sample_of(double match_ratio, int32_t varying_key_bits = 27) {
  SampleStatistics sample;
  sample.sampled = true;
  sample.counted = true;
  sample.match_ratio = match_ratio;
  sample.varying_key_bits = varying_key_bits;
  return sample;
}

// The same with keys that lie side by side from 0 on: so many places of either side.
inline SampleStatistics dense_sample(int64_t build_places, int64_t probe_places,
                                     double match_ratio = 1) {
  SampleStatistics sample = sample_of(match_ratio);
  sample.build_range = {0, build_places - 1, true};
  sample.probe_range = {0, probe_places - 1, false};
  sample.build_within =
      std::min(1.0, static_cast<double>(probe_places) / static_cast<double>(build_places));
  return sample;
}

// And with keys from all over the numbers of 4 bytes.
inline SampleStatistics sparse_sample(double match_ratio) {
  SampleStatistics sample = sample_of(match_ratio, 32);
  sample.build_range = sample.probe_range = {INT32_MIN, INT32_MAX, true};
  return sample;
}

inline std::string chosen(const PlanRequest& request, const SampleStatistics& sample,
                          const base::DeviceFacts& facts = h200(), uint64_t limit = 0) {
  return algorithm_name(choose_plan(request, sample, facts, limit).plan());
}

// Which has no algorithm's name.
inline bool joins_hashed_parts(const JoinPlan& plan) {
  return plan.transform == Transform::kWriteCombined && plan.match == Match::kGlobalTable;
}

// Predicted milliseconds of a candidate by name, or -1.
inline double milliseconds_of(const std::string& algorithm, const PlanRequest& request,
                              const SampleStatistics& sample) {
  for (const Candidate& candidate : choose_plan(request, sample, h200(), 0).candidates) {
    if (algorithm_name(candidate.plan) == algorithm) return candidate.seconds * 1e3;
  }
  return -1;
}

}  // namespace gpujoin::plan::testing
