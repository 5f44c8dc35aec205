// without_cuda.hpp: what stands for the GPU's part of a file in a build without CUDA.
#pragma once

#include "src/base/status.hpp"

namespace gpujoin::base {

// Throws NO_DEVICE.
[[noreturn]] inline void fail_without_cuda() {
  fail(GPUJOIN_ERROR_NO_DEVICE, "this library was built without CUDA");
}

}  // namespace gpujoin::base
