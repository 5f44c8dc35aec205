#include "src/execute/copied_rows.hpp"

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
uint64_t bytes_of_copy(base::Queue&, const columns::Relation&) { base::fail_without_cuda(); }
CopiedRows copied_on_device(base::Queue&, const columns::Relation&, std::optional<int32_t>) {
  base::fail_without_cuda();
}
std::shared_ptr<const columns::Relation> united_on_device(
    base::Queue&, std::span<const std::shared_ptr<const columns::Relation>>) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
