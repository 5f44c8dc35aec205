// table_probes.cuh: a table of the whole build side, and how probe rows ask it: few in one launch,
// others in chunks, those that stay where they are by a lookup.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/match/few_rows.cuh"
#include "kernels/match/look_up.cuh"
#include "kernels/match/mark_found.cuh"
#include "kernels/match/shared_values.cuh"
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
  ProbeRows wanted = ProbeRows::kMatched;
};

template <typename Key>
kernels::TableJoin<Key> table_join(const Probe& probe, const Outputs& outputs) {
  kernels::TableJoin<Key> args{};
  args.probe_keys = static_cast<const Key*>(probe.rows.keys);
  args.probe_rows = probe.rows.rows;
  args.probe_present = probe.rows.present;
  args.unmatched = probe.wanted == ProbeRows::kUnmatched;
  args.has_duplicates = probe.has_duplicates;
  args.packed_rows = probe.packed_rows;
  auto next_byte = probe.packed.bytes.begin();
  for (size_t i = 0; i < outputs.size() && next_byte != probe.packed.bytes.end(); ++i) {
    if (outputs[i].from == kernels::CarriedFrom::kBuild) args.packed_bytes[i] = *next_byte++;
  }
  return args;
}

template <int kWidth, typename Finder>
constexpr uint64_t kRowsOfBlock =
    uint64_t{kernels::kThreadsOf<Finder>} * kernels::kItemsOf<kWidth, Finder>;

// More than kernels have in shared memory beside what a finder has.
constexpr uint64_t kStaticBytes = 1024;

template <typename Finder>
uint32_t shared_bytes_of(const Finder& finder) {
  if constexpr (requires { finder.shared_bytes(); }) return finder.shared_bytes();
  return 0;
}

template <int kWidth, typename Finder, typename Kernel>
uint32_t resident_for(base::Queue& queue, Kernel kernel, const Finder& finder, const Probe& probe) {
  // In few sizes, of which each is asked for once.
  constexpr uint64_t kStep = 8192;
  uint64_t const most = queue.context.facts.shared_bytes_per_block - kStaticBytes;
  uint64_t const shared = std::min((shared_bytes_of(finder) + kStep - 1) / kStep * kStep, most);
  uint32_t const resident =
      base::resident_blocks(queue, kernel, kernels::kThreadsOf<Finder>, shared,
                            "asking for blocks of the probe of a table");
  return std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident);
}

// Nullopt when a row has no match, or build keys repeat.
template <int kWidth, typename Row, typename Finder>
std::optional<WrittenRows> look_up_rows(base::Queue& queue, const Finder& finder,
                                        const Probe& probe, const Outputs& outputs) {
  base::Pool& pool = *queue.device_pool;
  auto const kernel = kernels::look_up_kernel<kWidth, Row, Finder>;
  uint32_t const blocks = resident_for<kWidth>(queue, kernel, finder, probe);
  auto args = table_join<typename Finder::Key>(probe, outputs);
  base::Buffer const found =
      pool.allocate_rows<unsigned long long>(base::Memory::kDevice, 1, "the count of rows found");
  base::check(cudaMemsetAsync(found.data(), 0, found.bytes(), base::stream_of(queue)),
              "starting the count of rows found");
  args.found = found.as<unsigned long long>();
  std::vector<base::Buffer> columns = start_columns(queue, probe.rows.rows, outputs, &args);
  queue.check_cancelled();
  kernel<<<blocks, kernels::kThreadsOf<Finder>, shared_bytes_of(finder), base::stream_of(queue)>>>(
      args, finder);
  base::check(cudaGetLastError(), "looking rows up");
  // Where keys repeat nothing was looked up.
  uint64_t const rows_found =
      base::read_back(queue, static_cast<const unsigned long long*>(args.found));
  if (rows_found != probe.rows.rows) return std::nullopt;
  hand_over(std::move(columns), outputs);
  return WrittenRows{probe.rows.rows, probe.rows.rows, 1};
}

inline base::Buffer bits_of(base::Queue& queue, uint64_t rows, const char* what) {
  return queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, (rows + 31) / 32, what);
}

// Those whose bit is set of what they find. found: null: all that find something.
template <typename Finder>
base::Buffer tell_found_rows(base::Queue& queue, const Finder& finder, const Probe& rows,
                             const uint32_t* found) {
  base::Buffer marks = bits_of(queue, rows.rows.rows, "marks of rows");
  if (rows.rows.rows == 0) return marks;
  queue.check_cancelled();
  auto const tell = kernels::tell_found_kernel<Finder>;
  tell<<<resident_for<4>(queue, tell, finder, rows), kernels::kTableThreads, 0,
         base::stream_of(queue)>>>(table_join<typename Finder::Key>(rows, {}), finder, found,
                                   marks.as<uint32_t>());
  base::check(cudaGetLastError(), "telling which rows were found");
  return marks;
}

// Build rows, or places, that probe rows find, of as many.
template <typename Finder>
base::Buffer mark_found_rows(base::Queue& queue, const Finder& finder, uint64_t places,
                             const Probe& probe) {
  base::Buffer found = bits_of(queue, places, "bits of the build rows that were found");
  base::check(cudaMemsetAsync(found.data(), 0, found.bytes(), base::stream_of(queue)),
              "clearing bits of build rows");
  if (probe.rows.rows == 0) return found;
  queue.check_cancelled();
  auto const mark = kernels::mark_found_kernel<Finder>;
  mark<<<resident_for<4>(queue, mark, finder, probe), kernels::kTableThreads, 0,
         base::stream_of(queue)>>>(table_join<typename Finder::Key>(probe, {}), finder,
                                   found.as<uint32_t>());
  base::check(cudaGetLastError(), "marking build rows that are found");
  return found;
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
  uint32_t const blocks = resident_for<kWidth>(queue, kernel, finder, probe);
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
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
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
  uint32_t const blocks = resident_for<kWidth>(queue, kernel, finder, probe);
  auto args = table_join<typename Finder::Key>(probe, outputs);
  ChunkedColumns columns(queue, outputs);
  columns.expect(expected_rows, blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&args);
    columns.add_launch(blocks);
    kernel<<<blocks, kernels::kThreadsOf<Finder>, shared_bytes_of(finder),
             base::stream_of(queue)>>>(args, finder);
    base::check(cudaGetLastError(), "probing a table");
    bool const done = columns.collect();
    bool const may_be_in_vain = columns.rows() == 0 && probe.has_duplicates != nullptr;
    if (may_be_in_vain && base::read_back(queue, probe.has_duplicates) != 0) return std::nullopt;
    if (done) return ProbedRows{columns.finish()};
    columns.require(blocks);
  }
}

// Blocks have the values of a column of 4 bytes in shared memory, where the probe is long enough.
// Nullopt: they are read where they are.
template <typename Key>
std::optional<kernels::FindSharedValues<Key>> values_in_shared(
    base::Queue& queue, const kernels::FindPlaces<Key>& finder, const void* values,
    uint64_t probe_rows) {
  constexpr uint64_t kFewestProbeRows = uint64_t{1} << 22;
  bool const is_long = probe_rows >= kFewestProbeRows;
  if (values == nullptr || finder.slices != 1 || !is_long) return std::nullopt;
  kernels::FindSharedValues<Key> made{finder.table, 1, static_cast<const uint32_t*>(values), 0};
  uint64_t const bytes = queue.context.facts.shared_bytes_per_block;
  uint64_t const others = kStaticBytes + uint64_t{made.bit_words()} * sizeof(uint32_t);
  if (bytes <= others) return std::nullopt;
  uint64_t const room = (bytes - others) / sizeof(uint32_t);
  // H200, 2^27 rows: seven of eight values in shared memory 0.83 ms in the place of 0.87, three of
  // seven 1.14 in that of 1.06, as there is no cache for the others then.
  if (room < finder.table.places / 4 * 3) return std::nullopt;
  made.shared_places = static_cast<uint32_t>(std::min<uint64_t>(room, finder.table.places));
  return made;
}

// Its memory, and how rows are found in it. Row: of build columns side by side.
template <typename Finder, typename Row>
class TableOf final : public ColumnTable {
 public:
  using Key = typename Finder::Key;

  std::optional<ProbedRows> probe(base::Queue& queue, int64_t expected_rows, const TableSide& probe,
                                  Outputs outputs, ProbeRows wanted) const override {
    if (wanted == ProbeRows::kUnmatched && finder.slices > 1) {
      base::fail(GPUJOIN_ERROR_INTERNAL, "rows without a match in a table of slices");
    }
    if (probe.rows == 0) return ProbedRows{};
    name_sources(&outputs);
    auto const expected = static_cast<uint64_t>(std::max<int64_t>(expected_rows, 0));
    bool const words = common_width(outputs) == 4;
    bool const buffers = finder.slices > 1 || static_cast<double>(expected) <
                                                  buffered_share(words, outputs) * probe.rows;
    if (asks_in_one_launch(probe.rows)) {
      auto const ask = words ? probe_few_rows<4, Row, Finder> : probe_few_rows<0, Row, Finder>;
      return ask(queue, finder, seen_by(probe, wanted), outputs);
    }
    if constexpr (kMayShare) {
      auto const shared = buffers ? std::nullopt : find_in_shared(queue, probe.rows, &outputs);
      if (shared) {
        auto const join = words ? probe_in_chunks<4, false, Row, SharedFinder>
                                : probe_in_chunks<0, false, Row, SharedFinder>;
        return join(queue, expected, *shared, seen_by(probe, wanted), outputs);
      }
    }
    if constexpr (kHasPlaces) {
      using Sliced = kernels::FindSlicedPlaces<Key>;
      if (finder.slices > 1) {
        auto const join =
            words ? probe_in_chunks<4, true, Row, Sliced> : probe_in_chunks<0, true, Row, Sliced>;
        return join(queue, expected, Sliced{finder}, seen_by(probe, wanted), outputs);
      }
      // Blocks that drift apart find few bytes in L2 all the same. Turns are drawn for a batch, of
      // which columns of any width have twice as many. H200, sides in order: 2*10^6 x 1.6*10^8 rows
      // in turns 1.86 ms, by a stride 1.74, 1.1*10^6 x 8*10^7 0.67 and 0.64; of 4 bytes, 6*10^6 x
      // 10^8, 0.67 and 0.72.
      bool const may_drift = !words && asked_bytes <= kernels::kDirectSliceBytes / 2;
      if (finder.table.is_near && !may_drift) {
        return probe_by(queue, expected, kernels::FindNearPlaces<Key>{finder}, words, buffers,
                        seen_by(probe, wanted), outputs);
      }
    }
    return probe_by(queue, expected, finder, words, buffers, seen_by(probe, wanted), outputs);
  }

  bool asks_in_one_launch(uint64_t probe_rows) const override {
    return probe_rows <= kernels::kFewRows;
  }

  base::Buffer mark_probe(base::Queue& queue, const TableSide& probe) const override {
    return tell_found_rows(queue, finder, seen_by(probe, ProbeRows::kMatched), nullptr);
  }
  base::Buffer mark_build(base::Queue& queue, const TableSide& probe,
                          const TableSide& build) const override {
    uint64_t places = build.rows;
    if constexpr (requires { finder.table.places; }) places = finder.table.places;
    base::Buffer const found =
        mark_found_rows(queue, finder, places, seen_by(probe, ProbeRows::kMatched));
    return tell_found_rows(queue, finder, seen_by(build, ProbeRows::kMatched),
                           found.as<const uint32_t>());
  }

  std::optional<WrittenRows> look_up(base::Queue& queue, const TableSide& probe,
                                     Outputs outputs) const override {
    if (probe.rows == 0) return std::nullopt;
    name_sources(&outputs);
    bool const words = common_width(outputs) == 4;
    if constexpr (kMayShare) {
      if (auto const shared = find_in_shared(queue, probe.rows, &outputs)) {
        auto const find =
            words ? look_up_rows<4, Row, SharedFinder> : look_up_rows<0, Row, SharedFinder>;
        return find(queue, *shared, seen_by(probe, ProbeRows::kMatched), outputs);
      }
    }
    auto const find = words ? look_up_rows<4, Row, Finder> : look_up_rows<0, Row, Finder>;
    return find(queue, finder, seen_by(probe, ProbeRows::kMatched), outputs);
  }

  Finder finder;
  std::vector<const void*> sources;  // of each output that is a build column, where probes read it
  base::Buffer has_duplicates;
  bool any_row = false;      // of a key will do: they may repeat
  uint64_t asked_bytes = 0;  // of dense keys' columns
  bool asks_near = false;    // as the plan's
  const void* packed_rows = nullptr;
  PackedRow packed;
  std::vector<base::Buffer> memory;

 private:
  using SharedFinder = kernels::FindSharedValues<Key>;
  static constexpr bool kHasPlaces = std::is_same_v<Finder, kernels::FindPlaces<Key>>;
  static constexpr bool kMayShare = kHasPlaces && std::is_same_v<Row, kernels::NoRow>;

  // Of fewer probe rows with a match these wait in buffers for as many as a warp writes at once. A
  // warp that waits for none asks for more of a table at the same time. H200, 6*10^7 to 2.6*10^8
  // rows asking places of words, ms with buffers and without: rows of two columns, 28 % match 2.36
  // and 1.45, 20 % 1.06 and 0.90, 10 % 0.91 and 0.86, 8 % 0.83 and 0.81, 2 % 0.67 and 0.74; row
  // numbers, 15 % 0.74 and 0.52, 7 % 0.59 and 0.52; a column a side and the key, 30 % 0.72 and
  // 0.61, 15 % 0.54 and 0.59, 5 % 0.48 and 0.61; four a side, 30 % 0.33 and 0.38; of 8 bytes, 51 %
  // 0.62 and 0.66, 30 % 0.67 and 0.81; shuffled within blocks, 30 % 0.55 and 0.71; slots of hashed
  // keys, 40 % 0.78 and 0.79.
  double buffered_share(bool words, const Outputs& outputs) const {
    constexpr double kOfAny = 0.75;
    constexpr double kOfColumns = 0.25;
    constexpr double kOfPlaces = 0.07;
    if constexpr (kHasPlaces && !std::is_same_v<Row, uint4>) {
      if (!words || asks_near) return kOfAny;
      return std::is_same_v<Row, kernels::NoRow> && outputs.size() > 2 ? kOfColumns : kOfPlaces;
    }
    return kOfAny;
  }

  template <typename Asked>
  static std::optional<ProbedRows> probe_by(base::Queue& queue, uint64_t expected,
                                            const Asked& asked, bool words, bool buffers,
                                            const Probe& probe, const Outputs& outputs) {
    auto const join = words     ? (buffers ? probe_in_chunks<4, true, Row, Asked>
                                           : probe_in_chunks<4, false, Row, Asked>)
                      : buffers ? probe_in_chunks<0, true, Row, Asked>
                                : probe_in_chunks<0, false, Row, Asked>;
    return join(queue, expected, asked, probe, outputs);
  }

  // Of the only build column, which is then without a source: its values are found, not its rows.
  std::optional<SharedFinder> find_in_shared(base::Queue& queue, uint64_t probe_rows,
                                             Outputs* outputs) const {
    CarriedOutput* only = nullptr;
    for (CarriedOutput& output : *outputs) {
      if (output.from != kernels::CarriedFrom::kBuild) continue;
      if (only != nullptr || output.width != sizeof(uint32_t)) return std::nullopt;
      only = &output;
    }
    if (only == nullptr) return std::nullopt;
    auto const made = values_in_shared(queue, finder, only->source, probe_rows);
    if (made) only->source = nullptr;
    return made;
  }

  Probe seen_by(const TableSide& probe, ProbeRows wanted) const {
    return {probe, any_row ? nullptr : has_duplicates.as<uint32_t>(), packed_rows, packed, wanted};
  }

  void name_sources(Outputs* outputs) const {
    size_t next = 0;
    for (CarriedOutput& output : *outputs) {
      if (output.from == kernels::CarriedFrom::kBuild) output.source = sources[next++];
    }
  }
};

}  // namespace gpujoin::match
