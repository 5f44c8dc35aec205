// measure_memory.hpp: what the memory of the CPU executor does, by all of its threads, measured.
#pragma once

#include "src/base/device_facts.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::cpu {

// Sets the rates of copies, random reads and inserts, and the seconds that a parallel region costs;
// the others stay. The fastest of a few runs counts.
void measure_memory(base::Queue& queue, base::DeviceFacts* facts);

}  // namespace gpujoin::cpu
