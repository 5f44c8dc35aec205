// sample_keys.cu: host side of key sampling on the device.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/sample/sample_keys.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/sample/sample_keys.hpp"

namespace gpujoin::sample {

namespace {

using base::check;
using base::stream_of;

// The planner's rule as the kernels see it.
struct Rule {
  static constexpr int32_t kPositions = plan::kSamplePositions;
  static constexpr int32_t kSlots = plan::kSampleSlots;
  static constexpr int32_t kFilterBits = plan::kSampleFilterBits;
  __device__ static int64_t sample_row(int32_t i, int64_t rows) {
    return plan::sample_row(i, rows);
  }
  __device__ static uint32_t sample_slot(uint64_t key) { return plan::sample_slot(key); }
  __device__ static uint32_t sample_filter_bit(uint64_t key) {
    return plan::sample_filter_bit(key);
  }
};

template <typename Key>
kernels::SampledColumn<Key> view_of(const columns::ColumnView& key, int64_t rows) {
  return {static_cast<const Key*>(key.data), key.validity, key.validity_bit_offset, rows};
}

// One side's keys at the sample's rows, as the kernel leaves them.
struct SampledKeys {
  unsigned long long keys[Rule::kPositions];
  uint32_t valid[Rule::kPositions];
};
static_assert(2 * sizeof(SampledKeys) <= base::kReadbackBytes);

template <typename Key>
void read_positions(base::Context& context, const columns::ColumnView& key, int64_t rows,
                    int32_t positions, SampledKeys* target) {
  if (positions == 0) return;
  kernels::read_sample_kernel<Rule, Key>
      <<<base::grid_of(static_cast<uint64_t>(positions), kernels::kStreamThreads),
         kernels::kStreamThreads, 0, stream_of(context)>>>(view_of<Key>(key, rows), positions,
                                                           target->keys, target->valid);
  check(cudaGetLastError(), "reading a key sample");
}

std::vector<uint64_t> valid_keys(const SampledKeys& sampled, int32_t positions) {
  std::vector<uint64_t> found;
  for (int32_t i = 0; i < positions; ++i) {
    if (sampled.valid[i] != 0) found.push_back(sampled.keys[i]);
  }
  return found;
}

// The sample table in device memory, and behind it what the scan finds out.
struct DeviceTable {
  unsigned long long slot_keys[Rule::kSlots];
  uint32_t filter[Rule::kFilterBits / 32];
  int32_t slot_ids[Rule::kSlots];
  unsigned long long key_or;
  unsigned long long key_and;
  unsigned long long counts[Rule::kPositions];
};
static_assert(sizeof(DeviceTable) <= base::kReadbackBytes);

template <typename Key>
plan::BuildCounts count_build_keys(base::Context& context, const columns::ColumnView& key,
                                   int64_t rows, const plan::SampleTable& table) {
  // Made in pinned memory and copied at one go: three small copies from pageable memory would each wait.
  auto* staged = context.device->readback.as<DeviceTable>();
  std::copy(table.slot_keys().begin(), table.slot_keys().end(), staged->slot_keys);
  std::copy(table.filter().begin(), table.filter().end(), staged->filter);
  std::copy(table.slot_ids().begin(), table.slot_ids().end(), staged->slot_ids);
  staged->key_or = 0;
  staged->key_and = ~0ULL;
  std::fill_n(staged->counts, Rule::kPositions, 0ULL);
  auto* device = context.device->counters.as<DeviceTable>();
  check(cudaMemcpyAsync(device, staged, sizeof(DeviceTable), cudaMemcpyHostToDevice,
                        stream_of(context)),
        "copying the sample table");

  kernels::SampleTableView const view{device->filter, device->slot_keys, device->slot_ids,
                                      table.distinct_keys()};
  unsigned const resident = static_cast<unsigned>(context.facts.sm_count) * 8;
  unsigned const grid =
      std::min(base::grid_of(static_cast<uint64_t>(rows), kernels::kStreamTile), resident);
  kernels::count_sample_kernel<Rule, Key><<<grid, kernels::kStreamThreads, 0, stream_of(context)>>>(
      view_of<Key>(key, rows), view, device->counts, &device->key_or);
  check(cudaGetLastError(), "counting sampled keys");

  constexpr size_t kFoundBytes = sizeof(DeviceTable) - offsetof(DeviceTable, key_or);
  auto const* found_words = static_cast<const unsigned long long*>(
      base::read_back(context, &device->key_or, kFoundBytes));
  plan::BuildCounts found;
  found.key_or = found_words[0];
  // Above the key's width the device word is still all ones.
  found.key_and = found_words[1] & static_cast<Key>(~Key{0});
  found.counts.assign(found_words + 2, found_words + 2 + table.distinct_keys());
  return found;
}

template <typename Key>
plan::KeySample sample_of(base::Context& context, const columns::ColumnView& build_key,
                          int64_t build_rows, const columns::ColumnView& probe_key,
                          int64_t probe_rows, plan::SampleEffort effort) {
  plan::KeySample sample;
  auto const build_positions = plan::sample_positions(build_rows);
  auto const probe_positions = plan::sample_positions(probe_rows);
  sample.build_positions = build_positions;
  sample.probe_positions = probe_positions;
  auto* device = context.device->counters.as<SampledKeys>();
  read_positions<Key>(context, build_key, build_rows, build_positions, &device[0]);
  read_positions<Key>(context, probe_key, probe_rows, probe_positions, &device[1]);
  auto const* host =
      static_cast<const SampledKeys*>(base::read_back(context, device, 2 * sizeof(SampledKeys)));
  sample.build_keys = valid_keys(host[0], build_positions);
  sample.probe_keys = valid_keys(host[1], probe_positions);
  if (effort != plan::SampleEffort::kCounted) return sample;
  plan::SampleTable const table(sample.probe_keys);
  plan::BuildCounts scan;
  scan.counts.assign(static_cast<size_t>(table.distinct_keys()), 0);
  if (build_rows != 0) scan = count_build_keys<Key>(context, build_key, build_rows, table);
  table.finish(scan, &sample);
  return sample;
}

}  // namespace

plan::KeySample sample_keys(base::Context& context, const columns::ColumnView& build_key,
                            int64_t build_rows, const columns::ColumnView& probe_key,
                            int64_t probe_rows, plan::SampleEffort effort) {
  return base::with_key_type(build_key.width, [&](auto zero) {
    return sample_of<decltype(zero)>(context, build_key, build_rows, probe_key, probe_rows, effort);
  });
}

}  // namespace gpujoin::sample
