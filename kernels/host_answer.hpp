// host_answer.hpp: what a kernel answers in page-locked host memory, where the host looks for it
// (base::start_answer)
#pragma once

namespace gpujoin::kernels {

template <typename ContentType>
struct HostAnswer {
  using Content = ContentType;
  unsigned long long given;  // not 0: the content is there
  Content content;
};

#ifdef __CUDACC__
// One thread, after it, or its block before a barrier, wrote the content.
template <typename Content>
__device__ __forceinline__ void give_answer(HostAnswer<Content>* answer) {
  __threadfence_system();
  *static_cast<volatile unsigned long long*>(&answer->given) = 1;
}
#endif

}  // namespace gpujoin::kernels
