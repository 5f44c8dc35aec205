// carried_launch.cuh: which kernel joins partitions and writes their columns, and with what shared
// memory.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/match/carried_columns.cuh"
#include "kernels/match/match_by_rank.cuh"
#include "kernels/match/match_crossed.cuh"
#include "kernels/match/match_dealt.cuh"
#include "kernels/match/match_in_rounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/chunked_columns.hpp"

namespace gpujoin::match {

// A kernel for the outputs of one join.
template <typename Key>
struct Launch {
  void (*kernel)(kernels::CarriedJoin<Key>);
  // In the place of it, or null.
  void (*keeping_kernel)(kernels::KeepingJoin<Key>);
  void (*outer_kernel)(kernels::OuterPairs<Key>);
  int threads;
  uint32_t blocks;
  uint32_t shared_bytes;
  std::vector<uint32_t> stages;  // of each output; 0: none

  void operator()(base::Queue& queue, kernels::KeepingJoin<Key> join) const {
    for (size_t i = 0; i < stages.size(); ++i) join.columns[i].stage = stages[i];
    constexpr const char* kJoining = "joining partitions";
    auto const launch = [&](auto any_kernel, const auto& any_join) {
      base::launch_dependent(queue, any_kernel, blocks, threads, shared_bytes, kJoining, any_join);
    };
    kernels::CarriedJoin<Key> const& pairs = join;
    if (outer_kernel != nullptr) {
      return launch(outer_kernel, kernels::OuterPairs<Key>{pairs, join.of_build.are_wanted,
                                                           join.of_probe.are_wanted});
    }
    if (keeping_kernel == nullptr) return launch(kernel, pairs);
    share_stages(join);
    launch(keeping_kernel, join);
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

// Shared memory of a block, where a multiprocessor has as many blocks as the match was measured
// with.
template <typename Match>
uint64_t room_of(const base::DeviceFacts& facts) {
  constexpr uint64_t kReserved = 1024;  // of each block, by the system
  return (facts.shared_bytes_per_block + kReserved) / Match::kBlocksPerSm - kReserved;
}
template <typename Match>
constexpr uint64_t kTableBytes = (sizeof(typename Match::Shared) + 15) / 16 * 16;

// Stages for as many columns as shared memory has room for beside the match's table: of the build
// side, and of the probe side where the match gathers those, too.
template <typename Match>
Launch<typename Match::Key> make_launch(base::Queue& queue,
                                        const std::vector<CarriedOutput>& outputs,
                                        uint64_t most_units) {
  uint64_t const room = room_of<Match>(queue.context.facts);
  uint64_t shared = kTableBytes<Match>;
  std::vector<uint32_t> stages(outputs.size());
  auto const stage_those_from = [&](kernels::CarriedFrom from) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      uint32_t const bytes = kernels::stage_bytes(outputs[i].width);
      if (outputs[i].from != from || shared + bytes > room) continue;
      stages[i] = static_cast<uint32_t>(shared);
      shared += bytes;
    }
  };
  stage_those_from(kernels::CarriedFrom::kBuild);
  if constexpr (kernels::kStagesProbe<Match>) stage_those_from(kernels::CarriedFrom::kProbe);
  auto const kernel = kernels::carried_columns_kernel<Match>;
  uint32_t const resident = base::resident_blocks(
      queue, kernel, Match::kThreads, shared, "asking for shared memory of the join of partitions");
  Launch<typename Match::Key> launch{};
  if constexpr (Match::Join::kMissesRows) {
    launch.outer_kernel = kernel;
  } else if constexpr (Match::kKeeps) {
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

// All but the last leave what they cannot do, or not well, to the next: what is not crossed is
// dealt. By rank rows without a match are kept, too.
enum class How { kByRank, kByRankKeeping, kByRankOuter, kInRounds, kCrossed, kDealt };

// What joins rows with many matches each: devices with less shared memory have no room to cross.
template <typename Key, int kWidth>
How how_many_match(const base::DeviceFacts& facts) {
  using Match = kernels::MatchCrossed<Key, kWidth, kernels::CarriedShapeWide>;
  return kTableBytes<Match> <= room_of<Match>(facts) ? How::kCrossed : How::kDealt;
}

template <typename Key, int kWidth, typename Shape>
Launch<Key> make_launch(base::Queue& queue, How how, const std::vector<CarriedOutput>& outputs,
                        uint64_t most_units) {
  if constexpr (sizeof(Key) == 4) {
    using kernels::Keeping;
    using kernels::MatchByRank;
    if (how == How::kByRank) {
      return make_launch<MatchByRank<kWidth, Shape, Keeping::kNone>>(queue, outputs, most_units);
    }
    if (how == How::kByRankKeeping) {
      return make_launch<MatchByRank<kWidth, Shape, Keeping::kApart>>(queue, outputs, most_units);
    }
    // Row numbers are of 4 bytes, one a side.
    if constexpr (kWidth == 4 && std::is_same_v<Shape, kernels::CarriedShape<4>>) {
      if (how == How::kByRankOuter) {
        return make_launch<MatchByRank<4, Shape, Keeping::kAmongPairs>>(queue, outputs, most_units);
      }
    }
  }
  return make_launch<kernels::MatchInRounds<Key, kWidth, Shape>>(queue, outputs, most_units);
}

template <typename Key, int kWidth>
Launch<Key> make_launch(base::Queue& queue, How how, const std::vector<CarriedOutput>& outputs,
                        uint64_t most_units) {
  using kernels::CarriedShape;
  using kernels::CarriedShapeWide;
  if (how == How::kDealt) {
    return make_launch<kernels::MatchDealt<Key, kWidth, CarriedShapeWide>>(queue, outputs,
                                                                           most_units);
  }
  if (how == How::kCrossed) {
    return make_launch<kernels::MatchCrossed<Key, kWidth, CarriedShapeWide>>(queue, outputs,
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

}  // namespace gpujoin::match
