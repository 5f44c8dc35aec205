// sample_keys.cu: host side of key sampling on the device.
#include <algorithm>
#include <vector>

#include "kernels/sample/sample_keys.cuh"
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/sample/sample_keys.hpp"

namespace gpujoin::sample {

namespace {

using base::check;
using base::Memory;
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

template <typename Key>
std::vector<uint64_t> read_positions(base::Context& context, const columns::ColumnView& key,
                                     int64_t rows, int32_t positions) {
  std::vector<uint64_t> found;
  if (positions == 0) return found;
  auto* keys = context.device->counters.as<unsigned long long>();
  auto* valid = reinterpret_cast<uint32_t*>(keys + Rule::kPositions);
  constexpr uint64_t kBytes = Rule::kPositions * (sizeof(*keys) + sizeof(*valid));
  static_assert(kBytes <= base::kReadbackBytes);
  kernels::read_sample_kernel<Rule, Key>
      <<<base::grid_of(static_cast<uint64_t>(positions), kernels::kStreamThreads),
         kernels::kStreamThreads, 0, stream_of(context)>>>(view_of<Key>(key, rows), positions, keys,
                                                           valid);
  check(cudaGetLastError(), "reading a key sample");
  auto const* host = static_cast<const unsigned long long*>(base::read_back(context, keys, kBytes));
  auto const* host_valid = reinterpret_cast<const uint32_t*>(host + Rule::kPositions);
  for (int32_t i = 0; i < positions; ++i) {
    if (host_valid[i] != 0) found.push_back(host[i]);
  }
  return found;
}

template <typename Key>
plan::BuildCounts count_build_keys(base::Context& context, const columns::ColumnView& key,
                                   int64_t rows, const plan::SampleTable& table) {
  // One block of device memory: filter, slot keys, slot ids, counts, bits.
  size_t const filter_bytes = table.filter().size() * sizeof(uint32_t);
  size_t const key_bytes = table.slot_keys().size() * sizeof(uint64_t);
  size_t const id_bytes = table.slot_ids().size() * sizeof(int32_t);
  auto const distinct = static_cast<size_t>(table.distinct_keys());
  size_t const count_bytes = distinct * sizeof(unsigned long long);
  base::Buffer const memory = context.device_pool->allocate(
      Memory::kDevice, filter_bytes + key_bytes + id_bytes + count_bytes + 16, "the sample table");
  auto* slot_keys = memory.as<unsigned char>();
  auto* counts = slot_keys + key_bytes;
  auto* bits = counts + count_bytes;
  auto* filter = bits + 16;
  auto* slot_ids = filter + filter_bytes;
  base::copy(context, filter, Memory::kDevice, table.filter().data(), Memory::kHost, filter_bytes);
  base::copy(context, slot_keys, Memory::kDevice, table.slot_keys().data(), Memory::kHost,
             key_bytes);
  base::copy(context, slot_ids, Memory::kDevice, table.slot_ids().data(), Memory::kHost, id_bytes);
  check(cudaMemsetAsync(counts, 0, count_bytes + 8, stream_of(context)), "starting the counts");
  check(cudaMemsetAsync(bits + 8, 0xff, 8, stream_of(context)), "starting the key bits");

  kernels::SampleTableView const view{reinterpret_cast<const uint32_t*>(filter),
                                      reinterpret_cast<const unsigned long long*>(slot_keys),
                                      reinterpret_cast<const int32_t*>(slot_ids),
                                      table.distinct_keys()};
  unsigned const resident = static_cast<unsigned>(context.facts.sm_count) * 8;
  unsigned const grid =
      std::min(base::grid_of(static_cast<uint64_t>(rows), kernels::kStreamTile), resident);
  kernels::count_sample_kernel<Rule, Key><<<grid, kernels::kStreamThreads, 0, stream_of(context)>>>(
      view_of<Key>(key, rows), view, reinterpret_cast<unsigned long long*>(counts),
      reinterpret_cast<unsigned long long*>(bits));
  check(cudaGetLastError(), "counting sampled keys");

  auto const* host =
      static_cast<const unsigned long long*>(base::read_back(context, counts, count_bytes + 16));
  plan::BuildCounts found;
  found.counts.assign(host, host + distinct);
  found.key_or = host[distinct];
  // Above the key's width the device word is still all ones.
  found.key_and = host[distinct + 1] & static_cast<Key>(~Key{0});
  return found;
}

template <typename Key>
plan::KeySample sample_of(base::Context& context, const columns::ColumnView& build_key,
                          int64_t build_rows, const columns::ColumnView& probe_key,
                          int64_t probe_rows) {
  plan::KeySample sample;
  auto const build_positions = plan::sample_positions(build_rows);
  auto const probe_positions = plan::sample_positions(probe_rows);
  sample.build_positions = build_positions;
  sample.probe_positions = probe_positions;
  sample.build_keys = read_positions<Key>(context, build_key, build_rows, build_positions);
  sample.probe_keys = read_positions<Key>(context, probe_key, probe_rows, probe_positions);
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
                            int64_t probe_rows) {
  return base::with_key_type(build_key.width, [&](auto zero) {
    return sample_of<decltype(zero)>(context, build_key, build_rows, probe_key, probe_rows);
  });
}

}  // namespace gpujoin::sample
