// condition_columns_cuda.cpp: a condition on its way to the device.
#include <utility>

#include "src/conditions/filter_pairs.hpp"
#include "src/execute/condition_columns.hpp"

namespace gpujoin::execute {

std::shared_ptr<const conditions::DeviceCondition> device_condition(
    base::Queue& queue, std::shared_ptr<const conditions::BoundCondition> bound,
    const columns::Relation& left, const columns::Relation& right) {
  auto const work = column_work_on_gpu(queue);
  auto held = std::make_shared<Held>();
  auto const columns = condition_columns(queue, *work, *bound, left, right, held.get());
  return std::make_shared<const conditions::DeviceCondition>(queue, std::move(bound), columns,
                                                             std::move(held));
}

}  // namespace gpujoin::execute
