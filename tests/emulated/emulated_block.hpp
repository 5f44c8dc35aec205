// emulated_block.hpp: a block of a kernel, run on the host, whose threads take turns in an order
// that is drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace gpujoin_test {

// Every thread calls `kernel`. A thread runs until it waits for lanes of its warp, for the block,
// or for nothing in particular; who runs next is drawn. One block at a time, by one thread of the
// host. Ends the program where all wait, and says which thread came last.
void run_block(unsigned block, unsigned blocks, unsigned threads, uint64_t seed,
               const std::function<void()>& kernel);

// Fills the block's shared memory with what no kernel wrote there.
void soil_shared_memory();

}  // namespace gpujoin_test
