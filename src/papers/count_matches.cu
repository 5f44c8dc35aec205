// count_matches.cu: host side of the first pass of a row multiset.
#include "kernels/papers/count_row_multiset.cuh"

#include "src/base/device.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::papers {

template <typename Keys>
uint64_t count_matches(base::Queue& queue, const kernels::ProbeMultiset<Keys>& matches,
                       uint32_t blocks) {
  base::Buffer const count = queue.device_pool->allocate(
      base::Memory::kDevice, sizeof(kernels::MatchCount), "a match count");
  base::check(cudaMemsetAsync(count.data(), 0, sizeof(kernels::MatchCount), base::stream_of(queue)),
              "starting the match count");
  kernels::count_row_multiset_kernel<Keys>
      <<<blocks, kernels::kMultisetThreads, 0, base::stream_of(queue)>>>(
          matches, count.as<kernels::MatchCount>());
  base::check(cudaGetLastError(), "counting matches");
  return base::read_back(queue, static_cast<const kernels::MatchCount*>(count.data())).pairs;
}
template uint64_t count_matches(base::Queue&, const kernels::ProbeMultiset<kernels::WordKey>&,
                                uint32_t);
template uint64_t count_matches(base::Queue&, const kernels::ProbeMultiset<kernels::KeyColumns>&,
                                uint32_t);

}  // namespace gpujoin::papers
