// sum_sample.cuh: the sums over what was drawn, and over the build rows that have those keys
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       what draw_sample.cuh, count_sample.cuh and count_hot.cuh leave
// Out      all findings, in page-locked host memory, too; flags all 0
// Needs    Rule: the findings' types of src/plan/sample_findings.hpp
// Launch   1 block of kSampleSumThreads, dependent
// Moves    |Key| and three counters a position
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/dependent_launch.cuh"
#include "kernels/host_answer.hpp"
#include "kernels/sample/key_distances.cuh"
#include "kernels/sample/sample_buffers.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename MetKeys>
struct MetSums {
  long long in_one_tile = 0;
  long long in_two_tiles = 0;
  MetKeys seldom;
  MetKeys often;

  __device__ static void add(MetKeys& met, const MetKeys& other) {
    met.keys += other.keys;
    met.draws += other.draws;
    met.rows += other.rows;
    met.drawn_rows += other.drawn_rows;
    met.squares += other.squares;
    met.drawn_squares += other.drawn_squares;
    met.most = max(met.most, other.most);
  }
  // As the operator that CUB asks for.
  __device__ MetSums operator()(MetSums sums, const MetSums& other) const {
    sums.in_one_tile += other.in_one_tile;
    sums.in_two_tiles += other.in_two_tiles;
    add(sums.seldom, other.seldom);
    add(sums.often, other.often);
    return sums;
  }
};

// All threads.
template <typename Rule, typename Key>
__device__ __forceinline__ void sum_met_keys(SampleBuffers<Rule, Key>* sample) {
  using MetKeys = typename Rule::MetKeys;
  using Sums = MetSums<MetKeys>;
  using Reduce = cub::BlockReduce<Sums, kSampleSumThreads>;
  __shared__ typename Reduce::TempStorage storage;
  constexpr int kItems = Rule::kPositions / kSampleSumThreads;
  static_assert(kItems * kSampleSumThreads == Rule::kPositions);
  uint32_t all_rows[kItems];
  uint32_t all_draws[kItems];
  uint32_t all_tiles[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int const i = item * kSampleSumThreads + threadIdx.x;
    all_rows[item] = sample->rows[i];
    all_draws[item] = sample->table.draws[i];
    all_tiles[item] = sample->tiles[i];
  }
  Sums sums;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    int64_t const rows = all_rows[item];
    if (rows == 0) continue;
    int64_t const draws = all_draws[item];
    uint32_t const tiles = all_tiles[item];
    sums.in_one_tile += tiles == 1 ? 1 : 0;
    sums.in_two_tiles += tiles == 2 ? 1 : 0;
    MetKeys const met = {1, draws, rows, draws * rows, rows * rows, draws * rows * rows, rows};
    if (tiles <= 2) {
      Sums::add(sums.seldom, met);
    } else {
      Sums::add(sums.often, met);
    }
  }
  sums = Reduce(storage).Reduce(sums, Sums());
  if (threadIdx.x != 0) return;
  typename Rule::Findings& found = sample->findings;
  found.scanned = {sample->bounds.any, sample->bounds.all, sample->bounds.low, sample->bounds.high};
  found.scanned_within = static_cast<long long>(sample->within);
  found.met_in_one_tile = sums.in_one_tile;
  found.met_in_two_tiles = sums.in_two_tiles;
  found.met_seldom = sums.seldom;
  found.met_often = sums.often;
}

// What the blocks of a side found together. All lanes of a warp.
template <typename Rule, typename Key>
__device__ __forceinline__ typename Rule::DrawnKeys sum_of_parts(
    const DrawnPart<Rule, Key> (&parts)[kSampleParts], int64_t rows, KeyDistances<Rule>& to_next,
    KeyDistances<Rule>& to_neighbour) {
  DrawnSums<Key> sums;
#pragma unroll
  for (uint32_t part = 0; part < kSampleParts; ++part) sums.add(parts[part].sums);
  for (int i = threadIdx.x % 32; i < Rule::kDistances; i += 32) {
    uint32_t next = 0;
    uint32_t neighbour = 0;
#pragma unroll
    for (uint32_t part = 0; part < kSampleParts; ++part) {
      next += parts[part].to_next[i];
      neighbour += parts[part].to_neighbour[i];
    }
    to_next.counts[i] = next;
    to_neighbour.counts[i] = neighbour;
  }
  __syncwarp();
  typename Rule::DrawnKeys drawn;
  drawn.positions = Rule::sample_positions(rows);
  drawn.valid = sums.valid;
  drawn.distinct = sums.distinct;
  drawn.most = sums.most;
  drawn.heavy = sums.heavy;
  drawn.next_bits = to_next.usual_bits();
  drawn.neighbour_bits = to_neighbour.usual_bits();
  drawn.descents = sums.descents;
  if (sums.bounds.has_key()) {
    drawn.bounds = {sums.bounds.any, sums.bounds.all, sums.bounds.low, sums.bounds.high};
  }
  return drawn;
}

// counts: the build side was scanned.
template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleSumThreads)
    sum_sample_kernel(SampleBuffers<Rule, Key>* sample, SampleFlags* flags, int64_t build_rows,
                      int64_t probe_rows, bool counts,
                      HostAnswer<typename Rule::Findings>* answer) {
  using Findings = typename Rule::Findings;
  using Word = unsigned long long;
  constexpr uint32_t kWords = sizeof(Findings) / sizeof(Word);
  static_assert(sizeof(Findings) % sizeof(Word) == 0 && kWords <= kSampleSumThreads);
  __shared__ KeyDistances<Rule> distances[4];
  await_last_kernel();
  if (threadIdx.x == 0) *flags = {};
  if (threadIdx.x < 64) {
    bool const is_build = threadIdx.x < 32;
    auto const drawn = sum_of_parts<Rule>(is_build ? sample->build : sample->probe,
                                          is_build ? build_rows : probe_rows,
                                          distances[is_build ? 0 : 2], distances[is_build ? 1 : 3]);
    if (threadIdx.x % 32 == 0) {
      (is_build ? sample->findings.build : sample->findings.probe) = drawn;
    }
  }
  if (counts) sum_met_keys(sample);
  __syncthreads();
  if (threadIdx.x < kWords) {
    reinterpret_cast<Word*>(&answer->content)[threadIdx.x] =
        reinterpret_cast<const Word*>(&sample->findings)[threadIdx.x];
  }
  __syncthreads();
  if (threadIdx.x == 0) give_answer(answer);
}

}  // namespace gpujoin::kernels
