// sort_rows.cu: host side of sorts that pass over upper bits only.
#include "src/transform/sort_rows.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/transform/finish_runs.cuh"
#include "kernels/transform/sample_order.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"

namespace gpujoin::transform {

namespace {

using base::check;
using base::stream_of;

Order radix_sort_by(KeyBits bits) {
  Order order;
  order.technique = plan::Transform::kRadixSort;
  order.bits = bits;
  return order;
}

// Whether all runs are in order.
bool finish_runs(base::Queue& queue, Transformed& sorted, uint32_t rows,
                 const kernels::SortBits& bits) {
  auto* const unfinished = queue.device->counters.as<uint32_t>();
  check(cudaMemsetAsync(unfinished, 0, sizeof(*unfinished), stream_of(queue)),
        "starting to finish a sort");
  kernels::finish_runs_kernel<<<base::grid_of(rows, kernels::kRunTile), kernels::kRunThreads, 0,
                                stream_of(queue)>>>(
      sorted.keys.as<uint64_t>(), sorted.values.as<uint32_t>(), rows, bits, unfinished);
  check(cudaGetLastError(), "finishing a sort");
  return base::read_back(queue, static_cast<const uint32_t*>(unfinished)) == 0;
}

}  // namespace

int32_t bits_to_pass(base::Queue& queue, const PreparedKeys& keys, KeyBits bits) {
  constexpr int32_t kDigit = base::traffic::kBitsPerPass;
  static_assert(kDigit == 64 / kernels::kOrderDigits);
  static_assert(kernels::kUpperLeastSaved / kernels::kOrderDigits >= kernels::kOrderSample);
  int32_t const all = bits.end - bits.begin;
  auto const of_all = static_cast<int32_t>(base::traffic::radix_passes(all));
  // Of evenly spread keys every other row is alone at least.
  int32_t passes = (std::bit_width(keys.rows) + kDigit) / kDigit;
  if (passes >= of_all) return all;
  if (keys.rows * static_cast<uint64_t>(of_all - passes) < kernels::kUpperLeastSaved) return all;
  auto* const found = queue.device->counters.as<kernels::SampledOrder>();
  kernels::sample_order_kernel<<<1, kernels::kOrderSampleThreads, 0, stream_of(queue)>>>(
      static_cast<const uint64_t*>(keys.keys), keys.rows, bits.begin, bits.end, found);
  check(cudaGetLastError(), "sampling the order of keys");
  kernels::SampledOrder const sampled =
      base::read_back(queue, static_cast<const kernels::SampledOrder*>(found));
  // A pair of the sample's s * s / 2 stands for rows * 2 / (s * s) others in the run of a row.
  constexpr uint64_t kPairs = uint64_t{kernels::kOrderSample} * kernels::kOrderSample / 2;
  for (; passes < of_all; ++passes) {
    uint64_t together = 0;
    for (int32_t digit = passes; digit < kernels::kOrderDigits; ++digit) {
      together += sampled.pairs[digit];
    }
    if (together * keys.rows <= kernels::kUpperMostTogether * kPairs) return passes * kDigit;
  }
  return all;
}

SortedRows sort_rows(base::Queue& queue, const PreparedKeys& keys, KeyBits bits, int32_t upper) {
  PreparedColumn const rows = prepare_row_ids(queue, keys);
  SortedRows made;
  made.passed_bits = upper;
  int32_t const passed_from = bits.end - upper;
  Transformed sorted = order_by_key(queue, keys, rows, radix_sort_by({passed_from, bits.end}));
  if (passed_from > bits.begin && keys.rows > 1) {
    made.were_finished = true;
    if (!finish_runs(queue, sorted, keys.rows, {bits.begin, passed_from, bits.end})) {
      // From the input once more, which needs no more memory than before.
      sorted = {};
      sorted = order_by_key(queue, keys, rows, radix_sort_by(bits));
      made.passed_bits += bits.end - bits.begin;
    }
  }
  made.keys = std::move(sorted.keys);
  made.rows = std::move(sorted.values);
  return made;
}

}  // namespace gpujoin::transform
