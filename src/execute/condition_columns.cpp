#include "src/execute/condition_columns.hpp"

#include <algorithm>

#include "src/base/without_cuda.hpp"

namespace gpujoin::execute {

std::vector<columns::ColumnView> condition_columns(base::Queue& queue, ColumnWork& work,
                                                   const conditions::BoundCondition& bound,
                                                   const columns::Relation& left,
                                                   const columns::Relation& right, Held* held) {
  for (const columns::Relation* const relation : {&left, &right}) {
    if (relation->ready_event != nullptr) work.await(relation->ready_event);
  }
  std::vector<columns::ColumnView> brought;
  for (conditions::BoundColumn const& column : bound.columns) {
    columns::Relation const& relation = column.of_left ? left : right;
    brought.push_back(bring_column(
        queue, work, relation.columns[static_cast<size_t>(column.column)], relation.rows, held));
  }
  return brought;
}

bool reads_values(const conditions::BoundCondition& bound, const columns::Relation& left,
                  const columns::Relation& right) {
  return std::all_of(bound.columns.begin(), bound.columns.end(), [&](auto const& column) {
    columns::Relation const& relation = column.of_left ? left : right;
    return relation.columns[static_cast<size_t>(column.column)].layout == columns::Layout::kValues;
  });
}

#if !GPUJOIN_WITH_CUDA
std::shared_ptr<const conditions::DeviceCondition> device_condition(
    base::Queue&, std::shared_ptr<const conditions::BoundCondition>, const columns::Relation&,
    const columns::Relation&) {
  base::fail_without_cuda();
}
#endif

}  // namespace gpujoin::execute
