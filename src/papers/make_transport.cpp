// make_transport.cpp: the papers' transfers by the plan's value.
#include "src/papers/papers.hpp"
#include "src/papers/transports.hpp"

namespace gpujoin::papers {

std::unique_ptr<transfer::Transport> make_transport(base::Queue& queue, plan::Transfer technique) {
  if (technique == plan::Transfer::kZeroCopy) return zero_copy(queue);
  return managed_memory(queue, technique == plan::Transfer::kManagedPrefetch);
}

}  // namespace gpujoin::papers
