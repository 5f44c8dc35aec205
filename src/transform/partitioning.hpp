// partitioning.hpp: partitionings in passes, which order_by_key chooses among.
#pragma once

#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// The digit of a pass: the first of two takes the upper half of the bits, so that the second
// divides what the first made and partitions ascend in the end.
struct PassBits {
  int32_t shift = 0;
  int32_t bits = 0;
};
inline PassBits first_pass(const Order& order) {
  int32_t const all = order.bits.end - order.bits.begin;
  int32_t const bits = order.passes == 2 ? (all + 1) / 2 : all;
  return {order.bits.end - bits, bits};
}
inline PassBits second_pass(const Order& order) {
  int32_t const all = order.bits.end - order.bits.begin;
  return {order.bits.begin, all - first_pass(order).bits};
}

// PRBC: partitions in buckets. Moves values of 4 bytes only.
Transformed bucket_chains(base::Queue& queue, const PreparedKeys& keys,
                          const PreparedColumn& column, const Order& order);

}  // namespace gpujoin::transform
