#include "src/execute/partitioned_rows.hpp"

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
std::shared_ptr<RowPartitioner> make_row_partitioner(std::shared_ptr<base::Context>,
                                                     PartitionShape) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
