// carried_columns.cu: host side of the join of partitions that writes output columns.
#include "src/match/carried_columns.hpp"

#include <algorithm>
#include <optional>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/carried_launch.cuh"
#include "src/match/carried_units.hpp"
#include "src/match/kept_columns.hpp"
#include "src/match/partition_sets.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

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
    return std::min(most_units(How::kDealt),
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
  // Among the pairs, from the next run on.
  void keep_among_pairs(const KeptSides& kept) {
    args_.of_build.are_wanted = kept.build.outputs != nullptr;
    args_.of_probe.are_wanted = kept.probe.outputs != nullptr;
    is_outer_ = true;
  }
  // After the last run.
  void finish_kept() {
    each_kept([&](KeptColumns& columns) {
      if (are_untold()) columns.add_set(queue_, plan_, sizeof(Key), untold());
      columns.finish();
    });
  }

  // Rows that find no room are counted. False: there are some. leaves: partitions are expected to
  // be left, and nobody waits to know. It is what is expected of the next run, too.
  bool run(How how, const Launch<Key>& first_launch, bool* leaves, ChunkedColumns& columns) {
    columns.start(&args_);
    lefts_.clear();
    followers_ = 0;
    rows_not_dealt_ = 0;
    keeps_ = how == How::kByRankKeeping || how == How::kByRankOuter;
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
      bool const is_last = how == How::kDealt;
      if (is_last || !*leaves) {
        bool const is_done = columns.collect();
        if (!is_last) rows_not_dealt_ = columns.rows();
        if (is_last || !columns.any_left()) return add_outer(columns, is_done);
      }
      ++followers_;
      if (how == How::kInRounds || how == How::kCrossed) {
        *leaves = true;
        how = How::kDealt;
      } else {
        left_any_ = true;
        how = How::kInRounds;
      }
    }
  }
  // Of the last run, rows of partitions that were not dealt; 0 where nobody waited to know.
  uint64_t rows_not_dealt() const { return rows_not_dealt_; }
  // Launches of it that joined what one before had left, or was expected to leave.
  int32_t followers() const { return followers_; }

 private:
  // Probe rows.
  static uint32_t unit_rows_of(How how) {
    bool const have_many = how == How::kDealt || how == How::kCrossed;
    return have_many ? kernels::kCarriedDealtRows : kernels::kCarriedProbeRows;
  }
  // All in one partition are the most.
  uint64_t most_units(How how) const {
    uint32_t const fewest =
        how == How::kDealt ? kernels::kCarriedFewestDealtRows : unit_rows_of(how);
    uint64_t const probe_units = uint64_t{probe_.rows} / fewest + 1;
    uint64_t const build_units = uint64_t{build_.rows} / kernels::kCarriedBuildRows + 1;
    return args_.partitions + probe_units * build_units;
  }

  // Sums the units of the partitions that were left, at first of all, and makes a list of those
  // that are left now.
  base::Buffer start_units(How how) {
    base::Pool& pool = *queue_.device_pool;
    const uint8_t* const before = lefts_.empty() ? nullptr : lefts_.back().as<uint8_t>();
    bool const deals = how == How::kDealt;
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
    uint32_t const unit_rows = unit_rows_of(how);
    count_carried_units(queue_, build, probe, args_.partitions,
                        {before, unit_rows, deals ? heavy_rows : nullptr, left}, ends);
    args_.joins_all = before == nullptr;
    args_.unit_ends = ends;
    args_.heavy_rows = heavy_rows;
    args_.left = left;
    return units;
  }

  // Partitions of which the last run's join did not write rows without a match; null: all.
  bool are_untold() const { return !keeps_ || left_any_; }
  const uint8_t* untold() const { return keeps_ ? lefts_.front().as<uint8_t>() : nullptr; }

  // Rows without a match of partitions whose join did not write them.
  bool add_outer(ChunkedColumns& columns, bool is_done) {
    if (!is_outer_ || !are_untold()) return is_done;
    auto const add = [&](const CarriedSide& side, const CarriedSide& other, bool is_build) {
      add_unmatched_among_pairs(queue_, plan_, sizeof(Key), side, other, untold(), is_build,
                                columns);
    };
    if (args_.of_build.are_wanted) add(build_, probe_, true);
    if (args_.of_probe.are_wanted) add(probe_, build_, false);
    return columns.collect();
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
  int32_t followers_ = 0;
  std::optional<KeptColumns> kept_build_;
  std::optional<KeptColumns> kept_probe_;
  bool is_outer_ = false;  // rows are kept among pairs
  bool keeps_ = false;     // the last run did by rank
  bool left_any_ = false;  // partitions, to one that does not
};

template <typename Key, int kWidth>
WrittenRows join(base::Queue& queue, const plan::JoinPlan& plan, const CarriedSide& build,
                 const CarriedSide& probe, const std::vector<CarriedOutput>& outputs,
                 KeptSides* kept, uint64_t most_rows) {
  PartitionJoin<Key, kWidth> partitions(queue, plan, build, probe, outputs);
  // With as many matches a row lanes that have written theirs wait too long for the others. H200,
  // the match of 2^26 x 2^26 rows with eight of a key a side 3.1 ms crossed, with four 4.0, and 1.9
  // in rounds.
  constexpr int32_t kManyMatches = 8;
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  // Those of a few keys say nothing of the others: their partitions are left.
  auto const hot = static_cast<uint64_t>(std::max<int64_t>(plan.expected_hot_rows, 0));
  How how = has_ranks<Key>(plan.radix_bits) ? How::kByRank : How::kInRounds;
  // Room for rows is more than come, by half where a filter leaves few probe rows: H200, 1.3*10^7
  // rows of which a twentieth match seven each, 0.34 ms dealt and 0.09 in rounds, when many matches
  // were dealt.
  bool const may_be_many = plan.expected_matches == 0 || plan.expected_matches >= kManyMatches;
  How const many = how_many_match<Key, kWidth>(queue.context.facts);
  if (plan.matches_vary) how = many;
  if (may_be_many && (expected - std::min(hot, expected)) / kManyMatches > probe.rows) how = many;
  bool leaves = hot != 0;
  uint64_t behind = 0;
  bool const is_outer = kept->any() && kept->among_pairs;
  bool const keeps_by_rank = kept->any() && how == How::kByRank && partitions.can_keep(*kept);
  if (is_outer) partitions.keep_among_pairs(*kept);
  if (keeps_by_rank) {
    how = is_outer ? How::kByRankOuter : How::kByRankKeeping;
    // A probe row has a match or is kept.
    uint64_t const matched = std::min<uint64_t>(expected, probe.rows);
    if (kept->probe.outputs != nullptr) behind += probe.rows - matched;
    if (kept->build.outputs != nullptr) behind += build.rows;
  } else if (is_outer) {
    behind = uint64_t{kept->build.outputs != nullptr ? build.rows : 0} +
             (kept->probe.outputs != nullptr ? probe.rows : 0);
  }
  Launch<Key> launch = partitions.launch_of(how);
  if (how == How::kByRankKeeping && !partitions.keep(kept, launch.blocks)) {
    how = How::kByRank;
    launch = partitions.launch_of(how);
  }
  if (kept->any() && !is_outer && how != How::kByRankKeeping) {
    write_unmatched(queue, plan, sizeof(Key), build, probe, kept);
    behind = kept->build.written.rows + kept->probe.written.rows;
  }
  ChunkedColumns columns(queue, outputs, behind, most_rows);
  // Another launch may follow, whose blocks leave chunks partly empty, too.
  columns.expect(expected, launch.blocks +
                               std::max(uint64_t{launch.blocks}, partitions.most_dealt_blocks()) +
                               (is_outer ? 2 * most_set_blocks(queue) : 0));
  while (!partitions.run(how, launch, &leaves, columns)) {
    // Rows that were not expected are those of a few keys, or each has some: of 2.7*10^7 probe rows
    // with two each rounds take 1.06 ms, 2.16 dealt. Partitions that are left are dealt all the
    // same.
    if (partitions.rows_not_dealt() / (kManyMatches / 2) > probe.rows) {
      how = many;
      launch = partitions.launch_of(how);
    }
    columns.require(launch.blocks);
  }
  partitions.finish_kept();
  WrittenRows written = columns.finish();
  written.followers = partitions.followers();
  return written;
}

}  // namespace

WrittenRows carried_columns(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs, KeptSides* kept,
                            uint64_t most_rows) {
  if (build.rows == 0 || probe.rows == 0) {
    kept->among_pairs = false;
    write_unmatched(queue, plan, key_width, build, probe, kept);
    return {};
  }
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    switch (column_width(outputs, *kept, key_width)) {
      case 4:
        return join<Key, 4>(queue, plan, build, probe, outputs, kept, most_rows);
      case 8:
        return join<Key, 8>(queue, plan, build, probe, outputs, kept, most_rows);
      default:
        return join<Key, 0>(queue, plan, build, probe, outputs, kept, most_rows);
    }
  });
}

}  // namespace gpujoin::match
