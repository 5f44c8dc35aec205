#include "src/execute/derive_keys.hpp"

#include <utility>

#include "src/base/device.hpp"
#include "src/columns/result.hpp"
#include "src/keys/derive_keys.hpp"

namespace gpujoin::execute {

columns::ColumnView derive_on_gpu(base::Queue& queue, const columns::ColumnView& column,
                                  void* ready_event, int32_t op, int32_t width, int64_t rows,
                                  std::shared_ptr<const void>* held) {
  base::await(queue, ready_event);
  kernels::DerivedKey const key{column.data, column.width, static_cast<kernels::KeyOp>(op)};
  *held = columns::make_storage(keys::derive_key(queue, key, width, static_cast<uint64_t>(rows)));
  columns::ColumnView view = column;
  view.data = held->get();
  return view;
}

}  // namespace gpujoin::execute
