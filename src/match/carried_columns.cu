// carried_columns.cu: host side of the join of partitions that writes output columns.
#include "src/match/carried_columns.hpp"

#include <algorithm>
#include <optional>

#include "kernels/match/carried_columns.cuh"
#include "kernels/match/carried_schedule.cuh"
#include "kernels/match/match_by_rank.cuh"
#include "kernels/match/match_dealt.cuh"
#include "kernels/match/match_in_rounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/kept_columns.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

// A kernel for the outputs of one join.
template <typename Key>
struct Launch {
  void (*kernel)(kernels::CarriedJoin<Key>);
  void (*keeping_kernel)(kernels::KeepingJoin<Key>);  // in the place of it, or null
  int threads;
  uint32_t blocks;
  uint32_t shared_bytes;
  std::vector<uint32_t> stages;  // of each output; 0: none

  void operator()(base::Queue& queue, kernels::KeepingJoin<Key> join) const {
    for (size_t i = 0; i < stages.size(); ++i) join.columns[i].stage = stages[i];
    constexpr const char* kJoining = "joining partitions";
    if (keeping_kernel == nullptr) {
      base::launch_dependent(queue, kernel, blocks, threads, shared_bytes, kJoining,
                             static_cast<const kernels::CarriedJoin<Key>&>(join));
      return;
    }
    share_stages(join);
    base::launch_dependent(queue, keeping_kernel, blocks, threads, shared_bytes, kJoining, join);
  }

  // Build rows without a match are read where those with one are.
  static void share_stages(kernels::KeepingJoin<Key>& join) {
    for (int32_t i = 0; i < join.of_build.column_count; ++i) {
      kernels::CarriedColumn& column = join.of_build.columns[i];
      if (column.from == kernels::CarriedFrom::kKey) continue;
      column.from = kernels::CarriedFrom::kBuild;
      const kernels::CarriedColumn* const begin = join.columns;
      const kernels::CarriedColumn* const end = begin + join.column_count;
      auto const* const same = std::find_if(begin, end, [&](const auto& other) {
        return other.from == kernels::CarriedFrom::kBuild && other.source == column.source;
      });
      if (same != end) column.stage = same->stage;
    }
  }
};

// Stages for as many build columns as shared memory has room for beside the match's table.
template <typename Match>
Launch<typename Match::Key> make_launch(base::Queue& queue,
                                        const std::vector<CarriedOutput>& outputs,
                                        uint64_t most_units) {
  constexpr uint64_t kTable = (sizeof(typename Match::Shared) + 15) / 16 * 16;
  constexpr uint64_t kReserved = 1024;  // of each block, by the system
  uint64_t const room =
      (queue.context.facts.shared_bytes_per_block + kReserved) / Match::kBlocksPerSm - kReserved;
  uint64_t shared = kTable;
  std::vector<uint32_t> stages(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t const bytes = kernels::stage_bytes(outputs[i].width);
    if (outputs[i].from != kernels::CarriedFrom::kBuild || shared + bytes > room) continue;
    stages[i] = static_cast<uint32_t>(shared);
    shared += bytes;
  }
  auto const kernel = kernels::carried_columns_kernel<Match>;
  uint32_t const resident = base::resident_blocks(
      queue, kernel, Match::kThreads, shared, "asking for shared memory of the join of partitions");
  Launch<typename Match::Key> launch{};
  if constexpr (Match::kKeeps) {
    launch.keeping_kernel = kernel;
  } else {
    launch.kernel = kernel;
  }
  launch.threads = Match::kThreads;
  launch.blocks = static_cast<uint32_t>(std::min<uint64_t>(resident, most_units));
  launch.shared_bytes = static_cast<uint32_t>(shared);
  launch.stages = std::move(stages);
  return launch;
}

// By rank and in rounds leave what they cannot do, or not well, to the next. Dealt runs do what
// others left; dealt from the start leaves nothing. By rank rows without a match are kept, too.
enum class How { kByRank, kByRankKeeping, kInRounds, kDealtRuns, kDealt };

bool is_dealt(How how) { return how == How::kDealtRuns || how == How::kDealt; }

template <typename Key, int kWidth, typename Shape>
Launch<Key> make_launch(base::Queue& queue, How how, const std::vector<CarriedOutput>& outputs,
                        uint64_t most_units) {
  if constexpr (sizeof(Key) == 4) {
    if (how == How::kByRank) {
      return make_launch<kernels::MatchByRank<kWidth, Shape, false>>(queue, outputs, most_units);
    }
    if (how == How::kByRankKeeping) {
      return make_launch<kernels::MatchByRank<kWidth, Shape, true>>(queue, outputs, most_units);
    }
  }
  return make_launch<kernels::MatchInRounds<Key, kWidth, Shape>>(queue, outputs, most_units);
}

template <typename Key, int kWidth>
Launch<Key> make_launch(base::Queue& queue, How how, const std::vector<CarriedOutput>& outputs,
                        uint64_t most_units) {
  using kernels::CarriedShape;
  using kernels::CarriedShapeWide;
  if (how == How::kDealtRuns) {
    return make_launch<kernels::MatchDealt<Key, kWidth, CarriedShapeWide, true>>(queue, outputs,
                                                                                 most_units);
  }
  if (how == How::kDealt) {
    return make_launch<kernels::MatchDealt<Key, kWidth, CarriedShapeWide, false>>(queue, outputs,
                                                                                  most_units);
  }
  if constexpr (sizeof(Key) == 4) {
    int32_t build_width = 0;
    for (CarriedOutput const& output : outputs) {
      if (output.from == kernels::CarriedFrom::kBuild) build_width += output.width;
    }
    if (build_width > 4) {
      return make_launch<Key, kWidth, CarriedShapeWide>(queue, how, outputs, most_units);
    }
  }
  return make_launch<Key, kWidth, CarriedShape<sizeof(Key)>>(queue, how, outputs, most_units);
}

// Whether what a partition does not tell of a key has few values.
template <typename Key>
bool has_ranks(int32_t radix_bits) {
  return sizeof(Key) == 4 && 32 - radix_bits <= kernels::kCarriedRankBits;
}

// The join of all partitions, or of those that another left.
template <typename Key, int kWidth>
class PartitionJoin {
 public:
  PartitionJoin(base::Queue& queue, const plan::JoinPlan& plan, const CarriedSide& build,
                const CarriedSide& probe, const std::vector<CarriedOutput>& outputs)
      : queue_(queue), plan_(plan), build_(build), probe_(probe), outputs_(outputs) {
    args_.build_keys = static_cast<const Key*>(build.keys);
    args_.probe_keys = static_cast<const Key*>(probe.keys);
    args_.build_offsets = build.offsets;
    args_.probe_offsets = probe.offsets;
    args_.radix_bits = plan.radix_bits;
    args_.partitions = 1U << plan.radix_bits;
    args_.most_match = plan.expected_rows >= probe.rows / 2;
  }

  Launch<Key> launch_of(How how) const {
    return make_launch<Key, kWidth>(queue_, how, outputs_, most_units(how));
  }

  // Blocks of a launch that deals what is left: asked before it is made, which takes the host as
  // long as a launch.
  uint64_t most_dealt_blocks() const {
    constexpr int kBlocksPerSm = kernels::CarriedShapeWide::kBlocksPerSm;
    return std::min(most_units(How::kDealtRuns),
                    static_cast<uint64_t>(queue_.context.facts.sm_count) * kBlocksPerSm);
  }

  // Whether rows of these sides may be kept by rank: a partition's probe rows fit a unit.
  bool can_keep(const KeptSides& kept) const {
    return kept.build.outputs == nullptr ||
           probe_.rows / args_.partitions <= kernels::kCarriedProbeRows / 2;
  }
  // False: memory has no room for their rows.
  bool keep(KeptSides* kept, uint32_t blocks) {
    if (kept->build.outputs != nullptr) {
      kept_build_.emplace(queue_, build_, probe_, &kept->build, blocks);
    }
    if (kept->probe.outputs != nullptr) {
      kept_probe_.emplace(queue_, probe_, build_, &kept->probe, blocks);
    }
    bool fits = true;
    each_kept([&](KeptColumns& columns) { fits = fits && columns.has_room(); });
    if (!fits) {
      kept_build_.reset();
      kept_probe_.reset();
    }
    return fits;
  }
  // After the last run.
  void finish_kept() {
    each_kept([&](KeptColumns& columns) {
      if (!keeps_) columns.add_set(queue_, plan_, sizeof(Key), nullptr);
      if (keeps_ && left_any_)
        columns.add_set(queue_, plan_, sizeof(Key), lefts_.front().as<uint8_t>());
      columns.finish();
    });
  }

  // Rows that find no room are counted. False: there are some. leaves: partitions are expected to
  // be left, and nobody waits to know. It is what is expected of the next run, too.
  bool run(How how, const Launch<Key>& first_launch, bool* leaves, ChunkedColumns& columns) {
    columns.start(&args_);
    lefts_.clear();
    rows_not_dealt_ = 0;
    keeps_ = how == How::kByRankKeeping;
    left_any_ = keeps_ && *leaves;
    for (Launch<Key> launch = first_launch;; launch = launch_of(how)) {
      queue_.check_cancelled();
      base::Buffer const units = start_units(how);
      columns.add_launch(launch.blocks);
      if (how == How::kByRankKeeping) {
        if (kept_build_) kept_build_->start(&args_.of_build, launch.blocks);
        if (kept_probe_) kept_probe_->start(&args_.of_probe, launch.blocks);
      }
      launch(queue_, args_);
      if (is_dealt(how) || !*leaves) {
        bool const is_done = columns.collect();
        if (!is_dealt(how)) rows_not_dealt_ = columns.rows();
        if (is_dealt(how) || !columns.any_left()) return is_done;
      }
      if (how == How::kByRankKeeping) left_any_ = true;
      if (how == How::kInRounds) *leaves = true;
      bool const by_rank = how == How::kByRank || how == How::kByRankKeeping;
      how = by_rank ? How::kInRounds : How::kDealtRuns;
    }
  }
  // Of the last run, rows of partitions that were not dealt; 0 where nobody waited to know.
  uint64_t rows_not_dealt() const { return rows_not_dealt_; }

 private:
  // All in one partition are the most.
  uint64_t most_units(How how) const {
    uint32_t const unit_rows =
        is_dealt(how) ? kernels::kCarriedFewestDealtRows : kernels::kCarriedProbeRows;
    uint64_t const probe_units = uint64_t{probe_.rows} / unit_rows + 1;
    uint64_t const build_units = uint64_t{build_.rows} / kernels::kCarriedBuildRows + 1;
    return args_.partitions + probe_units * build_units;
  }

  // Sums the units of the partitions that were left, at first of all, and makes a list of those
  // that are left now.
  base::Buffer start_units(How how) {
    base::Pool& pool = *queue_.device_pool;
    const uint8_t* const before = lefts_.empty() ? nullptr : lefts_.back().as<uint8_t>();
    bool const deals = is_dealt(how);
    uint8_t* left = nullptr;
    if (!deals) {
      lefts_.push_back(pool.allocate_rows<uint8_t>(Memory::kDevice, args_.partitions,
                                                   "partitions that are left"));
      left = lefts_.back().as<uint8_t>();
    }
    base::Buffer units = pool.allocate_rows<unsigned long long>(
        Memory::kDevice, uint64_t{args_.partitions} + 1, "work units");
    auto* const ends = units.as<unsigned long long>();
    auto* const heavy_rows = reinterpret_cast<uint32_t*>(ends + args_.partitions);
    kernels::PartitionView build{};
    kernels::PartitionView probe{};
    build.offsets = build_.offsets;
    probe.offsets = probe_.offsets;
    uint32_t const unit_rows = deals ? kernels::kCarriedDealtRows : kernels::kCarriedProbeRows;
    kernels::CarriedUnits const count = {before, unit_rows, unit_rows};
    base::launch_dependent(queue_, kernels::carried_units_kernel, 1, kernels::kPartitionSumThreads,
                           0, "counting work units", build, probe, args_.partitions, count,
                           deals ? heavy_rows : nullptr, ends, left);
    args_.joins_all = before == nullptr;
    args_.unit_ends = ends;
    args_.heavy_rows = heavy_rows;
    args_.left = left;
    return units;
  }

  template <typename Function>
  void each_kept(Function function) {
    if (kept_build_) function(*kept_build_);
    if (kept_probe_) function(*kept_probe_);
  }

  base::Queue& queue_;
  const plan::JoinPlan& plan_;
  const CarriedSide& build_;
  const CarriedSide& probe_;
  const std::vector<CarriedOutput>& outputs_;
  kernels::KeepingJoin<Key> args_{};
  std::vector<base::Buffer> lefts_;  // of the last run, by each launch that may leave partitions
  uint64_t rows_not_dealt_ = 0;
  std::optional<KeptColumns> kept_build_;
  std::optional<KeptColumns> kept_probe_;
  bool keeps_ = false;     // the last run did
  bool left_any_ = false;  // partitions, to one that does not
};

template <typename Key, int kWidth>
WrittenRows join(base::Queue& queue, const plan::JoinPlan& plan, const CarriedSide& build,
                 const CarriedSide& probe, const std::vector<CarriedOutput>& outputs,
                 KeptSides* kept) {
  PartitionJoin<Key, kWidth> partitions(queue, plan, build, probe, outputs);
  // With as many matches a row lanes that have written theirs wait too long for the others. H200,
  // 512M rows of 2^25 x 2^27 with four matches each 6.0 ms dealt, of 2^26 x 2^26 with eight 3.8;
  // 384M of 2^26 x 2^27 with three 3.1 in rounds.
  constexpr uint64_t kDealtMatches = 8;
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  // Those of a few keys say nothing of the others: their partitions are left.
  auto const hot = static_cast<uint64_t>(std::max<int64_t>(plan.expected_hot_rows, 0));
  How how = has_ranks<Key>(plan.radix_bits) ? How::kByRank : How::kInRounds;
  if ((expected - std::min(hot, expected)) / kDealtMatches > probe.rows) how = How::kDealt;
  bool leaves = hot != 0;
  bool const keeps_any = kept->build.outputs != nullptr || kept->probe.outputs != nullptr;
  uint64_t behind = 0;
  if (keeps_any && how == How::kByRank && partitions.can_keep(*kept)) {
    how = How::kByRankKeeping;
    // A probe row has a match or is kept.
    if (kept->probe.outputs != nullptr)
      behind += probe.rows - std::min<uint64_t>(expected, probe.rows);
    if (kept->build.outputs != nullptr) behind += build.rows;
  }
  Launch<Key> launch = partitions.launch_of(how);
  if (how == How::kByRankKeeping && !partitions.keep(kept, launch.blocks)) {
    how = How::kByRank;
    launch = partitions.launch_of(how);
  }
  if (keeps_any && how != How::kByRankKeeping) {
    write_unmatched(queue, plan, sizeof(Key), build, probe, kept);
    behind = kept->build.written.rows + kept->probe.written.rows;
  }
  ChunkedColumns columns(queue, outputs, behind);
  // Another launch may follow, whose blocks leave chunks partly empty, too.
  columns.expect(expected,
                 launch.blocks + std::max(uint64_t{launch.blocks}, partitions.most_dealt_blocks()));
  while (!partitions.run(how, launch, &leaves, columns)) {
    // Rows that were not expected are most likely those of a few keys. Partitions that are left are
    // dealt all the same.
    if (partitions.rows_not_dealt() / 2 > probe.rows) {
      how = How::kDealt;
      launch = partitions.launch_of(how);
    }
    columns.require(launch.blocks);
  }
  partitions.finish_kept();
  return columns.finish();
}

}  // namespace

WrittenRows carried_columns(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs, KeptSides* kept) {
  if (build.rows == 0 || probe.rows == 0) {
    write_unmatched(queue, plan, key_width, build, probe, kept);
    return {};
  }
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    switch (column_width(outputs, *kept, key_width)) {
      case 4:
        return join<Key, 4>(queue, plan, build, probe, outputs, kept);
      case 8:
        return join<Key, 8>(queue, plan, build, probe, outputs, kept);
      default:
        return join<Key, 0>(queue, plan, build, probe, outputs, kept);
    }
  });
}

}  // namespace gpujoin::match
