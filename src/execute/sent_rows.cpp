#include "src/execute/sent_rows.hpp"

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<RowSender> make_row_sender(base::Context&) { base::fail_without_cuda(); }
#endif

}  // namespace gpujoin::execute
