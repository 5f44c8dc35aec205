// cluster.cuh: a cluster of blocks, which see each other's shared memory
//
// Source   CUDA's thread block clusters, of devices from 9.0 on; on others a block is alone
// Needs    for another block's memory: a barrier of the cluster since the blocks began, and one
//          before they end
// Moves    nothing. An H200 takes an access to another block's memory for a lane and clock in each
//          multiprocessor
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"

namespace gpujoin::kernels {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ uint32_t cluster_blocks() {
  uint32_t blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}
// Of all threads of the cluster; lanes may come one by one.
__device__ __forceinline__ void cluster_sync() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
// What lies where `mine` does in this block.
template <typename Value>
__device__ __forceinline__ uint32_t in_block(Value* mine, uint32_t block) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(mine))), "r"(block));
  return address;
}
__device__ __forceinline__ uint2 read_of_block(uint2* mine, uint32_t block) {
  uint2 value;
  asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
               : "=r"(value.x), "=r"(value.y)
               : "r"(in_block(mine, block)));
  return value;
}
__device__ __forceinline__ uint4 read_of_block(uint4* mine, uint32_t block) {
  uint4 value;
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(in_block(mine, block)));
  return value;
}
__device__ __forceinline__ void write_to_block(uint2* mine, uint32_t block, const uint2& value) {
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(in_block(mine, block)),
               "r"(value.x), "r"(value.y));
}
__device__ __forceinline__ void write_to_block(uint4* mine, uint32_t block, const uint4& value) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(in_block(mine, block)),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w));
}
__device__ __forceinline__ void add_in_block(uint32_t* mine, uint32_t block, uint32_t value) {
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(in_block(mine, block)), "r"(value));
}

#else

__device__ __forceinline__ uint32_t cluster_rank() { return 0; }
__device__ __forceinline__ uint32_t cluster_blocks() { return 1; }
__device__ __forceinline__ void cluster_sync() { block_sync(); }
template <typename Value>
__device__ __forceinline__ Value read_of_block(Value* mine, uint32_t) {
  return *mine;
}
template <typename Value>
__device__ __forceinline__ void write_to_block(Value* mine, uint32_t, const Value& value) {
  *mine = value;
}
__device__ __forceinline__ void add_in_block(uint32_t* mine, uint32_t, uint32_t value) {
  atomicAdd(mine, value);
}

#endif

}  // namespace gpujoin::kernels
