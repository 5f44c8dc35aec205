#include "src/columns/condition.hpp"

#include <algorithm>

namespace gpujoin::columns {

std::vector<int32_t> columns_read(const Condition& condition, bool left) {
  std::vector<int32_t> read;
  for (ConditionNode const& node : condition.nodes) {
    if (node.operation != GPUJOIN_OPERATOR_COLUMN || node.of_left != left) continue;
    if (std::find(read.begin(), read.end(), node.column) == read.end()) read.push_back(node.column);
  }
  return read;
}

}  // namespace gpujoin::columns
