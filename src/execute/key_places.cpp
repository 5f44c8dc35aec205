#include "src/execute/key_places.hpp"

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
uint64_t places_of_keys(base::Queue&, const columns::Relation&, int32_t) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
