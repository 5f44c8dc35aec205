// launch.hpp: grid sizes that cannot overflow, and what a launch has to ask for first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

// Blocks of `tile` rows each. A grid's first dimension holds 2^31 - 1.
inline unsigned grid_of(uint64_t rows, uint64_t tile) {
  uint64_t const blocks = (rows + tile - 1) / tile;
  if (blocks > 0x7fffffffU) {
    fail(GPUJOIN_ERROR_TOO_MANY_ROWS, "%llu rows need more blocks than a grid has",
         static_cast<unsigned long long>(rows));
  }
  return static_cast<unsigned>(blocks);
}

// Of kernels whose blocks take tile after tile: as many as there are tiles, or as are resident.
inline unsigned grid_of(const Queue& queue, uint64_t rows, uint64_t tile, unsigned blocks_per_sm) {
  return std::min(grid_of(rows, tile),
                  static_cast<unsigned>(queue.context.facts.sm_count) * blocks_per_sm);
}

// Whether it can be loaded as vectors of 16 bytes.
inline bool starts_a_vector(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;
}

// Lets a kernel have more dynamic shared memory than the 48 KB that need no asking: all that its
// static has left. As much for every launch, so that it need be asked once, and no launch is left
// with less than another was promised.
template <typename... Args>
void allow_shared(Queue& queue, void (*kernel)(Args...), const char* asking) {
  auto const* const key = reinterpret_cast<const void*>(kernel);
  std::vector<const void*>& allowed = queue.device->large_shared;
  if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) return;
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, key), asking);
  uint64_t const bytes = queue.context.facts.shared_bytes_per_block - attributes.sharedSizeBytes;
  check(cudaFuncSetAttribute(key, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        asking);
  allowed.push_back(key);
}

// How many blocks run at a time on all multiprocessors, with dynamic shared memory that is allowed
// here.
template <typename... Args>
uint32_t resident_blocks(Queue& queue, void (*kernel)(Args...), int threads, uint64_t shared_bytes,
                         const char* asking) {
  auto const* const key = reinterpret_cast<const void*>(kernel);
  for (ResidentBlocks const& asked : queue.device->resident) {
    if (asked.kernel == key && asked.threads == threads && asked.shared_bytes == shared_bytes) {
      return asked.blocks;
    }
  }
  if (shared_bytes != 0) allow_shared(queue, kernel, asking);
  int of_one = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, key, threads, shared_bytes), asking);
  auto const blocks = static_cast<uint32_t>(queue.context.facts.sm_count * std::max(of_one, 1));
  queue.device->resident.push_back({key, threads, shared_bytes, blocks});
  return blocks;
}

// Whether kernels have the instructions of kernels/dependent_launch.cuh and kernels/cluster.cuh: of
// a library without code for devices that know them, a newer device's driver compiles code that
// waits for nothing, and in which a block is alone. All kernels are built for the same
// architectures.
inline bool has_code_of_9_0(Queue& queue, const void* kernel, const char* asking) {
  std::optional<bool>& known = queue.device->has_code_of_9_0;
  if (!known) {
    cudaFuncAttributes attributes = {};
    check(cudaFuncGetAttributes(&attributes, kernel), asking);
    known = queue.context.facts.compute_capability >= 90 && attributes.ptxVersion >= 90;
  }
  return *known;
}

// Of a launch with an attribute, which has to stay.
inline cudaLaunchConfig_t launch_config(const Queue& queue, uint32_t blocks, int threads,
                                        uint64_t shared_bytes, cudaLaunchAttribute* attribute) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream_of(queue);
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

// Launches a kernel that may come to the device while the one before still runs, which saves the 2
// us between them. It has to call await_last_kernel() of kernels/dependent_launch.cuh before it
// touches what that one writes, or to wait for its flags, and the one before has to let it start.
template <typename... Parameters, typename... Args>
void launch_dependent(Queue& queue, void (*kernel)(Parameters...), uint32_t blocks, int threads,
                      uint64_t shared_bytes, const char* launching, Args... args) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = launch_config(queue, blocks, threads, shared_bytes, &early);
  bool const may_come_early =
      has_code_of_9_0(queue, reinterpret_cast<const void*>(kernel), launching);
  config.numAttrs = may_come_early ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, args...), launching);
}

inline cudaLaunchAttribute cluster_of(uint32_t blocks) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = blocks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  return cluster;
}

// How many blocks run at a time in clusters of so many, with dynamic shared memory that is allowed
// here. 0: the device has no room for one, or the library no code that knows clusters.
template <typename... Parameters>
uint32_t resident_in_clusters(Queue& queue, void (*kernel)(Parameters...), uint32_t cluster,
                              int threads, uint64_t shared_bytes, const char* asking) {
  if (!has_code_of_9_0(queue, reinterpret_cast<const void*>(kernel), asking)) return 0;
  allow_shared(queue, kernel, asking);
  cudaLaunchAttribute attribute = cluster_of(cluster);
  cudaLaunchConfig_t const config =
      launch_config(queue, cluster, threads, shared_bytes, &attribute);
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), asking);
  return static_cast<uint32_t>(clusters) * cluster;
}

// blocks: a multiple of cluster.
template <typename... Parameters, typename... Args>
void launch_in_clusters(Queue& queue, void (*kernel)(Parameters...), uint32_t blocks,
                        uint32_t cluster, int threads, uint64_t shared_bytes, const char* launching,
                        Args... args) {
  cudaLaunchAttribute attribute = cluster_of(cluster);
  cudaLaunchConfig_t const config = launch_config(queue, blocks, threads, shared_bytes, &attribute);
  check(cudaLaunchKernelEx(&config, kernel, args...), launching);
}

// Calls a function of its argument's key type: uint32_t or uint64_t for key_width 4 or 8.
template <typename Function>
auto with_key_type(int32_t key_width, Function function) {
  if (key_width == 4) return function(uint32_t{});
  if (key_width == 8) return function(uint64_t{});
  fail(GPUJOIN_ERROR_INTERNAL, "key width %d", key_width);
}

}  // namespace gpujoin::base
