// join_partitions.cuh: joins partitions that have the same number, by any finder, layout, schedule
// and emitter
//
// Paper    Rui & Tu 2017, section 3.2.2, Algorithm 3; Wu et al. 2024, sections 3.2 and 4.3. The
//          finders name theirs (co_partitions.cuh, nested_loop.cuh), as do the schedules
//          (scheduled_units.cuh) and the emitters (kernels/output/)
// Differs  a partition that does not fit is joined chunk by chunk of its build rows; pairs are
//          positions, not rows
// In       keys of both sides, ordered by partition; where the rows of the partitions lie; a
//          schedule
// Out      pairs of positions (or row ids, by the sink)
// Launch   kCoPartitionBlocksPerSm blocks a multiprocessor, or as the schedule says;
//          kCoPartitionThreads each; dynamic shared memory sizeof(PartitionJoinShared)
// Moves    the finder's bytes and the emitter's; the build rows of a unit once more for each
//          further unit that joins them
//
//   unit:   build rows   | chunk 0 | chunk 1 | ...     in shared memory, one at a time
//           probe rows   | batch 0 | batch 1 | ...     in registers, each batch with each chunk
#pragma once

#include <cstdint>

#include "kernels/match/partition_rows.cuh"
#include "kernels/match/scheduled_units.cuh"
#include "kernels/output/pair_sink.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key, typename SinkType>
struct PartitionJoin {
  using Sink = SinkType;
  // Inputs
  const Key* build_keys;
  const Key* probe_keys;
  PartitionView build;
  PartitionView probe;
  int32_t radix_bits;
  Schedule schedule;
  // State, of emitters that resume
  ResumePoint* resume;  // [gridDim.x]
  // Outputs
  Sink sink;
};

template <typename Finder, typename Emitter>
struct PartitionJoinShared {
  typename Finder::Shared finder;
  typename Emitter::Shared emitter;
  Unit unit;
};

// All threads of a block. Layout: SideBySide or InBuckets. Units says which rows come next.
template <typename Finder, typename Emitter, typename Layout, typename Units, typename Join>
__device__ __forceinline__ void join_partitions(const Join& join) {
  using Key = typename Finder::Key;
  constexpr int kItems = kEmitItems;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<PartitionJoinShared<Finder, Emitter>*>(dynamic_shared);
  Finder finder(shared.finder, join.radix_bits);
  Emitter emitter(join.sink, shared.emitter);
  Unit& unit = shared.unit;
  if (threadIdx.x == 0) {
    unit.number = kNoUnit;
    unit.from = {kNoUnit, 0, 0};
    if constexpr (Emitter::kResumes) unit.from = join.resume[blockIdx.x];
  }

  // What does not change within a unit stays in shared memory: registers are short here.
  for (;;) {
    if (threadIdx.x < 32) Units::next(join, unit);
    __syncthreads();
    if (unit.held_back) break;
    emitter.begin(unit.number);

    uint32_t batch = unit.from.batch;
    uint32_t chunk = unit.from.build_chunk;
    for (; chunk < unit.build_chunks; ++chunk) {
      uint32_t const first_build = unit.build.first + chunk * kCoPartitionBuildRows;
      uint32_t const build_bucket = unit.build.first_bucket;
      finder.build(
          chunk_rows(unit.build.rows, chunk * kCoPartitionBuildRows, kCoPartitionBuildRows),
          [&](uint32_t i) {
            return join.build_keys[Layout::position_of(join.build, build_bucket, first_build + i)];
          });
      for (; batch < unit.probe_batches; ++batch) {
        uint32_t const first_probe = unit.probe.first + batch * kCoPartitionBatch;
        uint32_t const probe_bucket = unit.probe.first_bucket;
        uint32_t const rows = unit.probe.rows - batch * kCoPartitionBatch;
        Key keys[kItems];
        uint32_t found[kItems];
#pragma unroll
        for (int item = 0; item < kItems; ++item) {
          uint32_t const i = item * kCoPartitionThreads + threadIdx.x;
          found[item] = i < rows ? Finder::kRow : Finder::kNoRow;
          keys[item] = 0;
          if (i < rows) {
            keys[item] =
                join.probe_keys[Layout::position_of(join.probe, probe_bucket, first_probe + i)];
          }
        }
        uint32_t const count = finder.find(keys, found);
        typename Finder::Cursor cursor;
        bool const written = emitter.emit(count, [&](uint32_t* build, uint32_t* probe) {
          uint32_t const match = finder.next(cursor, keys, found);
          uint32_t const i = cursor.item * kCoPartitionThreads + threadIdx.x;
          *build = Layout::position_of(join.build, unit.build.first_bucket, first_build + match);
          *probe = Layout::position_of(join.probe, unit.probe.first_bucket, first_probe + i);
        });
        if (!written) {
          if (threadIdx.x == 0) join.resume[blockIdx.x] = {unit.number, batch, chunk};
          emitter.finish();
          return;
        }
      }
      batch = 0;
      // The chunk is read to the end before the next one takes its place.
      if (chunk + 1 < unit.build_chunks) __syncthreads();
    }
    __syncthreads();  // nor is the unit read any more
  }
  emitter.finish();
  if constexpr (Emitter::kResumes) {
    // A unit that was stopped in the middle and is held back now goes on where it was.
    if (threadIdx.x == 0) {
      join.resume[blockIdx.x] = {unit.number, unit.from.batch, unit.from.build_chunk};
    }
  }
}

template <typename Finder, typename Emitter, typename Layout, typename Units, typename Join>
__global__ void __launch_bounds__(kCoPartitionThreads, kCoPartitionBlocksPerSm)
    join_partitions_kernel(const __grid_constant__ Join join) {
  join_partitions<Finder, Emitter, Layout, Units>(join);
}

}  // namespace gpujoin::kernels
