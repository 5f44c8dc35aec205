// positions.hpp: which value of a dictionary, or of a column of runs, each row has: on the GPU.
#pragma once

#include <cstdint>

#include "kernels/keys/positions.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::keys {

// [rows] uint32 of the device, of what lies there. Queued on the stream.
base::Buffer positions(base::Queue& queue, const kernels::Indices& indices, uint64_t rows);
base::Buffer positions(base::Queue& queue, const kernels::Runs& runs, uint64_t rows);
base::Buffer positions(base::Queue& queue, const kernels::Composed& composed, uint64_t rows);

}  // namespace gpujoin::keys
