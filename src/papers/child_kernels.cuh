// child_kernels.cuh: a partition that is too large for one block gets a kernel of its own, launched
// by the block that met it
//
// Paper    Rui & Tu 2017, section 3.2.3
// Differs  what a child's block does is a work unit of work_units.cuh, so that heavy build
//          partitions are shared as well; children are launched to be forgotten: a parent's thread
//          cannot wait for one, and the parent grid ends when they have
// In       as join_partitions.cuh, with a schedule of chunks
// Out      as join_partitions.cuh
// Needs    relocatable device code and the device runtime; an emitter that never refuses
// Launch   the parent: kCoPartitionBlocksPerSm blocks a multiprocessor; block b does partitions b,
//          b + blocks, ... (Algorithm 3) a child: a block for each work unit of its partition, of
//          which there are more than kChildKernelUnits
//
// Launches that are pending are limited by cudaLimitDevRuntimePendingLaunchCount (2048 unless the
// application says otherwise, and the limit is the device's, so it is not ours to change). A launch
// that fails is not tried again: the parent does the partition.
#pragma once

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

template <typename Finder, typename Emitter, typename Layout, typename Join>
__global__ void join_with_children_kernel(const __grid_constant__ Join join);

// One thread: a grid for the units [first, end) of one partition. False: it was refused.
template <typename Finder, typename Emitter, typename Layout, typename Join>
__device__ bool launch_child(const Join& parent, uint32_t partition, unsigned long long first,
                             unsigned long long end) {
  Join child = parent;
  for (kernels::PartitionView* view : {&child.build, &child.probe}) {
    view->offsets += partition;
    if (view->buckets != nullptr) view->bucket_offsets += partition;
  }
  child.schedule.partitions = 1;
  child.schedule.unit_ends += partition;
  child.schedule.first_unit = first;
  child.schedule.children = nullptr;
  auto const blocks = static_cast<unsigned>(min(end - first, 0x7fffffffULL));
  join_with_children_kernel<Finder, Emitter, Layout, Join>
      <<<blocks, kernels::kCoPartitionThreads,
         sizeof(kernels::PartitionJoinShared<Finder, Emitter>), cudaStreamFireAndForget>>>(child);
  bool const launched = cudaGetLastError() == cudaSuccess;
  auto* counts = parent.schedule.children;
  atomicAdd(launched ? &counts->launched : &counts->refused, 1ULL);
  return launched;
}

// The units of partitions b, b + blocks, ... that are not a child's.
template <typename Finder, typename Emitter, typename Layout>
struct UnitsOrChildren {
  template <typename Join>
  __device__ static void next(const Join& join, kernels::Unit& unit) {
    kernels::Schedule const& schedule = join.schedule;
    if (schedule.children == nullptr) {
      kernels::ScheduledUnits<kernels::CutIntoChunks>::next(join, unit);
      return;
    }
    if (threadIdx.x != 0) return;
    uint32_t partition = blockIdx.x;
    if (unit.number != kernels::kNoUnit) {
      if (unit.number + 1 < unit.end) {
        kernels::set_unit<kernels::CutIntoChunks>(schedule, join.build, join.probe, unit.partition,
                                                  unit.number + 1, unit);
        return;
      }
      partition = unit.partition + gridDim.x;
    }
    for (; partition < schedule.partitions; partition += gridDim.x) {
      unsigned long long const first = kernels::first_unit_of(schedule, partition);
      unit.end = schedule.unit_ends[partition];
      unsigned long long const units = unit.end - first;
      if (units == 0) continue;
      if (units > kernels::kChildKernelUnits &&
          launch_child<Finder, Emitter, Layout>(join, partition, first, unit.end)) {
        continue;
      }
      kernels::set_unit<kernels::CutIntoChunks>(schedule, join.build, join.probe, partition, first,
                                                unit);
      return;
    }
    unit.held_back = true;
  }
};

// Parent and child alike: a schedule without children makes it a child.
template <typename Finder, typename Emitter, typename Layout, typename Join>
__global__ void __launch_bounds__(kernels::kCoPartitionThreads, kernels::kCoPartitionBlocksPerSm)
    join_with_children_kernel(const __grid_constant__ Join join) {
  static_assert(!Emitter::kResumes, "a child cannot note where it stopped");
  kernels::join_partitions<Finder, Emitter, Layout, UnitsOrChildren<Finder, Emitter, Layout>>(join);
}

struct KernelsWithChildren {
  template <typename Finder, typename Emitter, typename Layout, typename Join>
  static auto kernel() {
    return join_with_children_kernel<Finder, Emitter, Layout, Join>;
  }
};

}  // namespace gpujoin::papers
