// table_probes.cuh: how probe rows ask a table of the whole build side: few in one launch, others
// in chunks, those that stay where they are by a lookup.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/match/few_rows.cuh"
#include "kernels/match/look_up.cuh"
#include "kernels/match/table_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/packed_row.hpp"
#include "src/match/table_columns.hpp"
#include "src/match/whole_columns.hpp"

namespace gpujoin::match {

using Outputs = std::vector<CarriedOutput>;

static_assert(kernels::kFewRows <= kernels::SmallTableAnswer::kMostRows);

// What a probe reads beside the finder.
struct Probe {
  TableSide rows;
  const uint32_t* has_duplicates = nullptr;
  const void* packed_rows = nullptr;  // null: columns apart
  const PackedRow& packed;
};

template <typename Key>
kernels::TableJoin<Key> table_join(const Probe& probe, const Outputs& outputs) {
  kernels::TableJoin<Key> args{};
  args.probe_keys = static_cast<const Key*>(probe.rows.keys);
  args.probe_rows = probe.rows.rows;
  args.probe_present = probe.rows.present;
  args.has_duplicates = probe.has_duplicates;
  args.packed_rows = probe.packed_rows;
  auto next_word = probe.packed.words.begin();
  for (size_t i = 0; i < outputs.size() && next_word != probe.packed.words.end(); ++i) {
    if (outputs[i].from == kernels::CarriedFrom::kBuild) args.packed_words[i] = *next_word++;
  }
  return args;
}

template <int kWidth, typename Finder>
constexpr uint64_t kRowsOfBlock =
    uint64_t{kernels::kTableThreads} * kernels::kItemsOf<kWidth, Finder>;

// Nullopt when a row has no match, or build keys repeat.
template <int kWidth, typename Row, typename Finder>
std::optional<WrittenRows> look_up_rows(base::Queue& queue, const Finder& finder,
                                        const Probe& probe, const Outputs& outputs) {
  base::Pool& pool = *queue.device_pool;
  auto const kernel = kernels::look_up_kernel<kWidth, Row, Finder>;
  uint32_t const resident = base::resident_blocks(queue, kernel, kernels::kTableThreads, 0,
                                                  "asking for blocks of lookups");
  auto args = table_join<typename Finder::Key>(probe, outputs);
  base::Buffer const found =
      pool.allocate_rows<unsigned long long>(base::Memory::kDevice, 1, "the count of rows found");
  base::check(cudaMemsetAsync(found.data(), 0, found.bytes(), base::stream_of(queue)),
              "starting the count of rows found");
  args.found = found.as<unsigned long long>();
  std::vector<base::Buffer> columns = start_columns(queue, probe.rows.rows, outputs, &args);
  queue.check_cancelled();
  kernel<<<std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident),
           kernels::kTableThreads, 0, base::stream_of(queue)>>>(args, finder);
  base::check(cudaGetLastError(), "looking rows up");
  // Where keys repeat nothing was looked up.
  uint64_t const rows_found =
      base::read_back(queue, static_cast<const unsigned long long*>(args.found));
  if (rows_found != probe.rows.rows) return std::nullopt;
  hand_over(std::move(columns), outputs);
  return WrittenRows{probe.rows.rows, probe.rows.rows, 1};
}

// A table that is asked slice by slice asked as a whole: few rows would meet few of its sectors in
// L2 again.
template <typename Finder>
Finder at_one_go(const Finder& finder) {
  return finder;
}
template <typename Key>
kernels::FindPlaces<Key> at_one_go(kernels::FindPlaces<Key> finder) {
  finder.table.slice_places = finder.table.places;
  finder.slices = 1;
  return finder;
}

// In one launch, which the host hears of by its answer.
template <int kWidth, typename Row, typename Finder>
std::optional<ProbedRows> probe_few_rows(base::Queue& queue, const Finder& finder,
                                         const Probe& probe, const Outputs& outputs) {
  check_count(outputs);
  auto const kernel = kernels::few_rows_kernel<kWidth, Row, Finder>;
  uint32_t const resident = base::resident_blocks(queue, kernel, kernels::kTableThreads, 0,
                                                  "asking for blocks of the probe of a table");
  auto args = table_join<typename Finder::Key>(probe, outputs);
  args.capacity = probe.rows.rows;
  std::vector<base::Buffer> columns = start_columns(queue, probe.rows.rows, outputs, &args);
  base::ZeroedCounts zeroed(queue, sizeof(kernels::FewRowsState));
  auto* state = zeroed.as<kernels::FewRowsState>();
  queue.check_cancelled();
  auto* answer = base::start_answer(queue);
  auto asked = at_one_go(finder);
  // Not by <<<>>>, whose error may be an older one of the thread: the launch would then run, and
  // answer the next join.
  void* kernel_args[] = {&args, &asked, &state, &answer};
  base::check(
      cudaLaunchKernel(
          reinterpret_cast<const void*>(kernel),
          dim3(std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident)),
          dim3(kernels::kTableThreads), kernel_args, 0, base::stream_of(queue)),
      "probing a table by few rows");
  zeroed.all_launched();
  kernels::SmallTableAnswer const told = {base::await_answer(queue)};
  if (told.is_in_vain()) return std::nullopt;
  if (told.rows() != 0) hand_over(std::move(columns), outputs);
  return ProbedRows{{told.rows(), probe.rows.rows, 1},
                    static_cast<double>(told.nanoseconds()) * 1e-6};
}

template <int kWidth, bool kBuffers, typename Row, typename Finder>
std::optional<ProbedRows> probe_in_chunks(base::Queue& queue, uint64_t expected_rows,
                                          const Finder& finder, const Probe& probe,
                                          const Outputs& outputs) {
  auto const kernel = kernels::table_columns_kernel<kWidth, kBuffers, Row, Finder>;
  uint32_t const resident = base::resident_blocks(queue, kernel, kernels::kTableThreads, 0,
                                                  "asking for blocks of the probe of a table");
  uint32_t const blocks =
      std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident);
  auto args = table_join<typename Finder::Key>(probe, outputs);
  ChunkedColumns columns(queue, outputs);
  columns.expect(expected_rows, blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&args);
    columns.add_launch(blocks);
    kernel<<<blocks, kernels::kTableThreads, 0, base::stream_of(queue)>>>(args, finder);
    base::check(cudaGetLastError(), "probing a table");
    bool const done = columns.collect();
    if (columns.rows() == 0 && base::read_back(queue, probe.has_duplicates) != 0) {
      return std::nullopt;
    }
    if (done) return ProbedRows{columns.finish()};
    columns.require(blocks);
  }
}

}  // namespace gpujoin::match
