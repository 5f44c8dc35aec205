// orders.hpp: the papers' transforms, which order_by_key chooses among.
#pragma once

#include "src/transform/transform.hpp"

namespace gpujoin::papers {

using transform::Order;
using transform::PreparedColumn;
using transform::PreparedKeys;
using transform::Transformed;

// PTH, WSH and BSH: partitions side by side. BSH moves values of 4 bytes only.
Transformed histogram_partition(base::Queue& queue, const PreparedKeys& keys,
                                const PreparedColumn& column, const Order& order);

// Keys as unsigned bit patterns, ascending, with the column; rows of equal keys keep their order.
// Needs as much memory again as it answers, until it is done.
Transformed merge_sorted(base::Queue& queue, const PreparedKeys& keys,
                         const PreparedColumn& column);

}  // namespace gpujoin::papers
