#include "src/execute/copied_rows.hpp"

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
CopiedRows copied_on_device(base::Queue&, const columns::Relation&, std::optional<int32_t>) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
