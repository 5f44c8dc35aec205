// order_by_key.cpp: the papers' transforms by the plan's value.
#include "src/papers/orders.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::papers {

Transformed order_by_key(base::Queue& queue, const PreparedKeys& keys, const PreparedColumn& column,
                         const Order& order) {
  if (order.technique == plan::Transform::kMergeSort) return merge_sorted(queue, keys, column);
  return histogram_partition(queue, keys, column, order);
}

}  // namespace gpujoin::papers
