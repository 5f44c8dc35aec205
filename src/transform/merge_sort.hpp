// merge_sort.hpp: the sort that compares, which order_by_key chooses.
#pragma once

#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// Keys as unsigned bit patterns, ascending, with the column; rows of equal keys keep their order.
// Needs as much memory again as it answers, until it is done.
Transformed merge_sorted(base::Context& context, const PreparedKeys& keys,
                         const PreparedColumn& column);

}  // namespace gpujoin::transform
