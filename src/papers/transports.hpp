// transports.hpp: the papers' ways to read host columns, which make_transport chooses among.
#pragma once

#include <memory>

#include "src/transfer/transfer.hpp"

namespace gpujoin::papers {

// prefetched: pages are sent ahead; otherwise they follow when kernels touch them.
std::unique_ptr<transfer::Transport> managed_memory(base::Queue& queue, bool prefetched);
std::unique_ptr<transfer::Transport> zero_copy(base::Queue& queue);

}  // namespace gpujoin::papers
