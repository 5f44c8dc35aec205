// calibrate.hpp: what the memory, the launches and the host link of a CUDA device do, measured.
#pragma once

#include "src/base/device_facts.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::calibrate {

// Sets the rates of copies, random reads, random inserts, the host link and launches; the others
// stay. The fastest of a few runs counts: what else the device does can only slow them down.
void measure_memory(base::Queue& queue, base::DeviceFacts* facts);

}  // namespace gpujoin::calibrate
