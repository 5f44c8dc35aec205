// match_parts.cuh: parts of both sides, each joined by a table in shared memory
//
// Source   ours: what is written and read at random is in shared memory. By the places of dense
//          keys, with no hash and no comparison, or by those of hashed ones
// In       rows of both sides in parts (move_to_parts.cuh)
// Out      target[] of each output word, in chunks; *has_duplicates: build keys repeat, or a part
//          has more than its table has room for
// Needs    *has_duplicates 0 before; what was written where they repeat is worth nothing
// Launch   a block a multiprocessor, of kPartThreads; where a cluster holds a part, in clusters
// Moves    4 bytes and those of its words a row of either side; the widths of an output row
//          (traffic::match_parts)
// Shared   a part's table (part_tables.cuh, clustered_part.cuh)
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/here.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_places.cuh"
#include "kernels/match/part_tables.cuh"
#include "kernels/match/place_parts.hpp"
#include "kernels/transform/key_steps.hpp"
#include "kernels/transform/partition_sums.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// A word of an output row. width 8: it and the next one are a value; 0: it was the word before's.
struct PartTarget {
  void* target;
  int32_t width;
};

struct PartsJoin {
  PlaceParts parts;
  uint32_t room;  // of each word in shared memory
  KeySteps<uint64_t> steps;
  int32_t key_width;  // of the output's
  void* key_target;   // or null
  const uint32_t* build_rows;
  const uint32_t* build_offsets;  // [parts.count + 1]
  const uint32_t* probe_rows;
  const uint32_t* probe_offsets;  // [parts.count + 1]
  const uint32_t* units_before;   // [parts.count + 1], of the probe side
  uint32_t unit_rows;
  uint32_t* has_duplicates;
  PartTarget build_targets[kMostPartWords];
  PartTarget probe_targets[kMostPartWords];
  CarriedCounters* counters;
  unsigned long long* tails;  // [gridDim.x]
  uint32_t chunk;             // places that a block takes at a time
  uint64_t capacity;          // places
  int32_t column_count;
  CarriedColumn columns[kCarriedColumns];
};

// part == parts.count: there are no more.
__device__ inline PartUnit part_unit(const PartsJoin& join, uint64_t number) {
  uint32_t const parts = join.parts.count;
  uint32_t const units = join.units_before[parts];
  if (number >= units) return {parts, 0, 0};
  auto const unit = static_cast<uint32_t>(number);
  // Where no part has two units the search, a dozen reads one after another, is spared.
  uint32_t const part = units == parts ? unit : holder_of(join.units_before, 0, parts, unit);
  uint32_t const first =
      join.probe_offsets[part] + (unit - join.units_before[part]) * join.unit_rows;
  uint32_t const left = join.probe_offsets[part + 1] - first;
  return {part, first, first + min(join.unit_rows, left)};
}
// By one thread, beyond the first of each of so many tables. There are no more, too, where a block
// saw that build keys repeat.
__device__ inline PartUnit next_part_unit(const PartsJoin& join, uint32_t tables) {
  uint64_t const number = tables + atomicAdd(&join.counters->taken, 1ULL);
  bool const in_vain = *static_cast<const volatile uint32_t*>(join.has_duplicates) != 0;
  return in_vain ? PartUnit{join.parts.count, 0, 0} : part_unit(join, number);
}

// rows: from the row on that is read.
template <int kWords>
__device__ __forceinline__ void load_part_row(const uint32_t* rows, uint32_t& address,
                                              uint32_t (&words)[kWords]) {
  if constexpr (kWords == 1) {
    uint2 const loaded = __ldcs(reinterpret_cast<const uint2*>(rows));
    address = loaded.x;
    words[0] = loaded.y;
  } else if constexpr (kWords == 3) {
    uint4 const loaded = __ldcs(reinterpret_cast<const uint4*>(rows));
    address = loaded.x;
    words[0] = loaded.y;
    words[1] = loaded.z;
    words[2] = loaded.w;
  } else {
    address = rows[0];
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = rows[1 + w];
  }
}

// Rows of a thread that go to places first, first + step(1), ...: value_of(item) of those that are
// written.
template <int kItems, typename Value, typename Places, typename ValueOf>
__device__ __forceinline__ void write_part_values(void* target, const Places& places,
                                                  const ValueOf& value_of) {
  auto* const first = here(static_cast<Value*>(target) + places.first);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (places.is_written(i)) __stcs(first + places.step(i), static_cast<Value>(value_of(i)));
  }
}
template <int kItems, int kWords, typename Places>
__device__ __forceinline__ void write_part_words(const PartTarget (&targets)[kMostPartWords],
                                                 const uint32_t (&words)[kItems][kWords],
                                                 const Places& places) {
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if (targets[w].width == 4) {
      write_part_values<kItems, uint32_t>(targets[w].target, places,
                                          [&](int i) { return words[i][w]; });
    } else if (targets[w].width == 8) {
      write_part_values<kItems, unsigned long long>(targets[w].target, places, [&](int i) {
        uint64_t const high = words[i][w + 1 < kWords ? w + 1 : w];
        return high << 32 | words[i][w];
      });
    }
  }
}

// All rows of a warp's batch, side by side.
struct WholeBatch {
  uint64_t first;  // the lane's
  __device__ static bool is_written(int) { return true; }
  __device__ static uint32_t step(int item) { return 32 * item; }
};
// Some of them: each that is written has the next place.
template <int kItems>
struct PartOfBatch {
  uint64_t first;
  uint32_t steps[kItems];  // kNone: it is not written
  static constexpr uint32_t kNone = ~0U;
  __device__ bool is_written(int item) const { return steps[item] != kNone; }
  __device__ uint32_t step(int item) const { return steps[item]; }
};

// Rows of a warp's lanes, of which those before `end` are there.
template <int kWords, int kItems>
struct PartRows {
  uint32_t addresses[kItems];
  uint32_t words[kItems][kWords];

  // first: the lane's, of 32 * kItems side by side.
  __device__ static bool has(uint64_t first, int item, uint32_t end) {
    return first + 32 * item < end;
  }
  __device__ __forceinline__ void load(const uint32_t* side, uint64_t first, uint32_t end) {
    const uint32_t* const rows = here(side + first * (1 + kWords));
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!has(first, i, end)) continue;
      load_part_row(rows + 32 * i * (1 + kWords), addresses[i], words[i]);
    }
  }
};

template <typename Table, int kProbeWords>
__global__ void __launch_bounds__(kPartThreads)
    match_parts_kernel(const __grid_constant__ PartsJoin join) {
  constexpr int kBuildWords = Table::kWords;
  constexpr int kBuildItems = Table::kBuildItems;
  constexpr int kItems = Table::items(kBuildWords + kProbeWords);
  constexpr uint32_t kWarps = kPartThreads / 32;
  constexpr uint32_t kBuildBatch = 32 * kBuildItems;
  constexpr uint32_t kBatch = 32 * kItems;
  __shared__ CarriedPlaces::Shared places;
  __shared__ PartUnit units[2];
  extern __shared__ __align__(16) uint32_t shared[];
  Table table(shared, join.room);
  uint32_t const tables = gridDim.x / table.blocks();
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const below = (1U << lane) - 1;
  if (threadIdx.x == 0) {
    CarriedPlaces::start(join, places);
    units[0] = part_unit(join, blockIdx.x / table.blocks());
  }
  block_sync();

#pragma unroll 1
  for (uint32_t turn = 0;; ++turn) {
    PartUnit const unit = units[turn % 2];
    if (unit.part == join.parts.count) break;
    table.start(unit.part);
    uint32_t const build_first = join.build_offsets[unit.part];
    uint32_t build_end = join.build_offsets[unit.part + 1];
    bool repeats = !table.has_room_for(build_end - build_first);
    if (repeats) build_end = build_first;
    uint32_t const warp = table.rank() * kWarps + threadIdx.x / 32;
    uint32_t const warps = table.blocks() * kWarps;
#pragma unroll 1
    for (uint64_t row = uint64_t{build_first} + warp * kBuildBatch + lane; row < build_end;
         row += warps * kBuildBatch) {
      PartRows<kBuildWords, kBuildItems> build;
      build.load(join.build_rows, row, build_end);
#pragma unroll
      for (int i = 0; i < kBuildItems; ++i) {
        if (!build.has(row, i, build_end)) continue;
        repeats = !table.insert(build.addresses[i], build.words[i]) || repeats;
      }
    }
    table.sync();
    if (threadIdx.x == 0 && table.rank() == 0) {
      table.tell(&units[(turn + 1) % 2], next_part_unit(join, tables));
    }
    repeats = !table.end_build() || repeats;
    if (repeats) *join.has_duplicates = 1;

#pragma unroll 1
    for (uint64_t row = uint64_t{unit.first} + warp * kBatch + lane; row - lane < unit.end;
         row += warps * kBatch) {
      // All lanes of the warp are here.
      PartRows<kProbeWords, kItems> probe;
      probe.load(join.probe_rows, row, unit.end);
      bool found[kItems];
#pragma unroll
      for (int i = 0; i < kItems; ++i) found[i] = probe.has(row, i, unit.end);
      uint32_t build_words[kItems][kBuildWords];
      table.find(probe.addresses, found, build_words);
      uint32_t count = 0;
#pragma unroll
      for (int i = 0; i < kItems; ++i) count += __popc(__ballot_sync(0xffffffffU, found[i]));
      auto const write = [&](auto const& of_batch) {
        if (join.key_target != nullptr) {
          auto const key_of = [&](int i) {
            uint64_t const place = join.parts.place_of(probe.addresses[i], unit.part);
            return join.steps.low + (place << join.steps.shift);
          };
          if (join.key_width == 4) {
            write_part_values<kItems, uint32_t>(join.key_target, of_batch, key_of);
          } else {
            write_part_values<kItems, unsigned long long>(join.key_target, of_batch, key_of);
          }
        }
        write_part_words(join.build_targets, build_words, of_batch);
        write_part_words(join.probe_targets, probe.words, of_batch);
      };
      uint32_t taken = 0;
#pragma unroll 1
      for (uint32_t written = 0; written != count; written += taken) {
        uint64_t const base = CarriedPlaces::take(join, places, count - written, &taken);
        // Beyond the room rows are counted only.
        if (base >= join.capacity) continue;
        if (taken == kBatch) {
          write(WholeBatch{base + lane});
          continue;
        }
        PartOfBatch<kItems> some = {base, {}};
        uint32_t before = 0;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          uint32_t const lanes = __ballot_sync(0xffffffffU, found[i]);
          uint32_t const step = before + __popc(lanes & below) - written;
          some.steps[i] = found[i] && step < taken ? step : some.kNone;
          before += __popc(lanes);
        }
        write(some);
      }
      __syncwarp();
    }
    table.sync();
  }
  if (table.lost_rows()) *join.has_duplicates = 1;
  if (threadIdx.x == 0) CarriedPlaces::finish(join, places);
}

}  // namespace gpujoin::kernels
