// dependent_launch.cuh: a kernel that is on the device before the one it follows is done
//
// Source   ours; CUDA's programmatic dependent launch, which devices before 9.0 lack: there kernels
//          follow each other
#pragma once

namespace gpujoin::kernels {

// The next kernel of the stream may come once all blocks are here, if base::launch_dependent
// launched it.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Until the kernel before is done, and all before it, who waited here on every path. What it wrote
// or may still read is untouchable before, but for what flags tell (sample/ready_flag.cuh).
__device__ __forceinline__ void await_last_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace gpujoin::kernels
