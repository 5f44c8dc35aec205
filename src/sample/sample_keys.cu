// sample_keys.cu: host side of key sampling on the device.
#include <algorithm>

#include "kernels/sample/count_hot.cuh"
#include "kernels/sample/count_sample.cuh"
#include "kernels/sample/draw_sample.cuh"
#include "kernels/sample/sum_sample.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/plan/sample_findings.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/sample/sample_keys.hpp"
#include "src/sample/sampled_view.cuh"

namespace gpujoin::sample {

namespace {

using base::check;
using base::stream_of;

constexpr const char* kAskingForShared = "asking for the shared memory of a key sample";

// The planner's rule and its findings as the kernels see them.
struct Rule {
  using Findings = plan::SampleFindings;
  using DrawnKeys = plan::DrawnKeys;
  using MetKeys = plan::MetKeys;
  using HotKeys = plan::HotKeys;
  using Slices = plan::SampleSlices;
  static constexpr int32_t kPositions = plan::kSamplePositions;
  static constexpr int32_t kFilterWords = plan::kSampleFilterWords;
  static constexpr uint32_t kSliceRows = plan::kSampleSliceRows;
  static constexpr uint32_t kTileSlices = plan::kSampleTileSlices;
  static constexpr uint32_t kHeavyDraws = plan::kHeavyDraws;
  static constexpr int32_t kMostHotKeys = plan::kMostHotKeys;
  static constexpr uint32_t kHotSlots = plan::kHotSlots;
  __device__ static uint32_t hot_draws(int64_t build_rows) {
    return static_cast<uint32_t>(plan::hot_draws(build_rows));
  }
  __device__ static int32_t sample_positions(int64_t rows) { return plan::sample_positions(rows); }
  __device__ static int64_t sample_row(int32_t i, int64_t rows) {
    return plan::sample_row(i, rows);
  }
  static constexpr int32_t kDistances = plan::kDistances;
  static constexpr int64_t kNextRow = plan::kNextRow;
  static constexpr int64_t kNeighbourRows = plan::kNeighbourRows;
  __device__ static int64_t neighbour_row(int64_t row, int64_t rows, int64_t apart) {
    return plan::neighbour_row(row, rows, apart);
  }
  __device__ static int32_t distance_bits(int64_t one, int64_t other) {
    return plan::distance_bits(one, other);
  }
  __device__ static uint32_t sample_hash(uint64_t key) { return plan::sample_hash(key); }
  __device__ static int64_t hot_pairs(int64_t build_rows, int64_t probe_rows) {
    return plan::hot_pairs(build_rows, probe_rows);
  }
  __device__ static plan::SampleFilterBits sample_filter_bits(uint64_t key) {
    return plan::sample_filter_bits(key);
  }
};

// Two tiles' numbers, each plus one, share a word that has a value for more than two.
static_assert(plan::kMostSampleTiles + 1 < 0xffff);

// Blocks of the scan that find room while the draw's blocks are on the device, whose registers are
// a multiprocessor's. They have equal shares: one that came when the draw is done would end as much
// later. Of a small device nearly all is then left out, which takes longer.
template <typename Kernel>
uint32_t blocks_beside_draw(base::Queue& queue, Kernel* scan, uint32_t resident) {
  constexpr uint32_t kFewSms = 8 * kernels::kSampleDrawBlocks;
  auto const sms = static_cast<uint32_t>(queue.context.facts.sm_count);
  bool const runs_beside = base::has_code_of_9_0(queue, reinterpret_cast<const void*>(scan),
                                                 "asking for a scan beside draws");
  if (!runs_beside || sms < kFewSms) return resident;
  return resident / sms * (sms - kernels::kSampleDrawBlocks);
}

template <typename Key>
plan::SampleFindings sample_of(base::Queue& queue, kernels::SampledColumn<Key> build,
                               kernels::SampledColumn<Key> probe, plan::SampleEffort effort) {
  using Buffers = kernels::SampleBuffers<Rule, Key>;
  static_assert(sizeof(Buffers) <= base::kCounterBytes);
  auto* const sample = queue.device->counters.as<Buffers>();
  cudaStream_t const stream = stream_of(queue);

  auto const draw = kernels::draw_sample_kernel<Rule, Key>;
  constexpr uint32_t kTableBytes = sizeof(kernels::SharedSample<Rule, Key>);
  base::allow_shared(queue, draw, kAskingForShared);
  base::ZeroedCounts zeroed(queue, sizeof(kernels::SampleFlags));
  auto* const flags = zeroed.as<kernels::SampleFlags>();
  draw<<<kernels::kSampleDrawBlocks, kernels::kSampleDrawThreads, kTableBytes, stream>>>(
      build, probe, sample, flags);
  check(cudaGetLastError(), "drawing a key sample");

  bool const counts = effort == plan::SampleEffort::kCounted;
  auto const tiles = static_cast<uint32_t>(plan::sample_tiles(build.rows));
  if (counts && tiles != 0) {
    auto const count = kernels::count_sample_kernel<Rule, Key>;
    constexpr uint32_t kShared = kernels::count_sample_shared<Rule, Key>();
    uint32_t const resident =
        base::resident_blocks(queue, count, kernels::kSampleThreads, kShared, kAskingForShared);
    base::launch_dependent(queue, count,
                           std::min(tiles, blocks_beside_draw(queue, count, resident)),
                           kernels::kSampleThreads, kShared, "counting sampled keys", build,
                           plan::SampleSlices(build.rows), sample, flags);
  }
  if (plan::may_count_hot_keys(build.rows, probe.rows)) {
    auto const count = kernels::count_hot_kernel<Rule, Key>;
    constexpr uint32_t kShared = kernels::count_hot_shared<Rule>();
    uint32_t const resident =
        base::resident_blocks(queue, count, kernels::kSampleHotThreads, kShared, kAskingForShared);
    auto const tiles_of_side =
        static_cast<uint32_t>(std::max(build.rows, probe.rows) / kernels::kHotTile<Key>) + 1;
    base::launch_dependent(queue, count, std::min(tiles_of_side, resident),
                           kernels::kSampleHotThreads, kShared, "counting hot keys", build, probe,
                           sample);
  }
  using Answer = kernels::HostAnswer<plan::SampleFindings>;
  static_assert(sizeof(Answer) <= base::kReadbackBytes);
  auto* const answer = reinterpret_cast<Answer*>(base::start_answer(queue));
  base::launch_dependent(queue, kernels::sum_sample_kernel<Rule, Key>, 1,
                         kernels::kSampleSumThreads, 0, "summing up a key sample", sample, flags,
                         build.rows, probe.rows, counts, answer);
  zeroed.all_launched();
  base::await_answer(queue);

  plan::SampleFindings const& read = answer->content;
  plan::SampleFindings found;
  if (counts) {
    found = read;
    found.counted = true;
    found.scanned_rows = plan::scanned_rows(build.rows);
  } else {
    found.build = read.build;
    found.probe = read.probe;
    found.hot = read.hot;
  }
  return found;
}

}  // namespace

plan::SampleFindings sample_keys(base::Queue& queue, const columns::ColumnView& build_key,
                                 int64_t build_rows, const columns::ColumnView& probe_key,
                                 int64_t probe_rows, plan::SampleEffort effort) {
  return base::with_key_type(build_key.width, [&](auto zero) {
    using Key = decltype(zero);
    return sample_of(queue, view_of<Key>(build_key, build_rows),
                     view_of<Key>(probe_key, probe_rows), effort);
  });
}

}  // namespace gpujoin::sample
