// order_by_key.cpp: keys and one column to transformed order.
#include <utility>

#include "src/base/launch.hpp"
#include "src/papers/papers.hpp"
#include "src/transform/partitioning.hpp"
#include "src/transform/radix_unordered.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

template <typename Key>
void radix_order(base::Queue& queue, const Key* keys, Key* keys_out, const void* values,
                 void* values_out, int32_t value_width, uint32_t rows, KeyBits bits);

namespace {

Transformed radix_ordered(base::Queue& queue, const PreparedKeys& keys,
                          const PreparedColumn& column, KeyBits bits) {
  Transformed result;
  auto const key_width = static_cast<uint64_t>(keys.key_width);
  auto const value_width = static_cast<uint64_t>(column.width);
  result.keys = queue.device_pool->allocate(
      base::Memory::kDevice, base::checked_bytes(keys.rows, key_width), "transformed keys");
  result.values = queue.device_pool->allocate(
      base::Memory::kDevice, base::checked_bytes(keys.rows, value_width), "a transformed column");
  if (keys.rows == 0) return result;
  base::with_key_type(keys.key_width, [&](auto zero) {
    using Key = decltype(zero);
    radix_order<Key>(queue, static_cast<const Key*>(keys.keys), result.keys.as<Key>(), column.data,
                     result.values.data(), column.width, keys.rows, bits);
  });
  return result;
}

}  // namespace

Transformed order_by_key(base::Queue& queue, const PreparedKeys& keys, const PreparedColumn& column,
                         const Order& order) {
  switch (order.technique) {
    case plan::Transform::kRadixOnesweep:
    case plan::Transform::kRadixSort:
      return radix_ordered(queue, keys, column, order.bits);
    case plan::Transform::kMergeSort:
    case plan::Transform::kHistogramThread:
    case plan::Transform::kHistogramWarp:
    case plan::Transform::kHistogramBlock:
      return papers::order_by_key(queue, keys, column, order);
    case plan::Transform::kBucketChains:
      return bucket_chains(queue, keys, column, order);
    case plan::Transform::kRadixUnordered: {
      UnorderedRows rows = radix_unordered(queue, keys, {&column, 1}, order);
      Transformed result;
      result.keys = std::move(rows.keys);
      result.values = std::move(rows.columns.front());
      result.offsets = std::move(rows.offsets);
      return result;
    }
    default:
      base::fail(GPUJOIN_ERROR_INTERNAL, "transform=%s orders nothing",
                 plan::to_text(order.technique));
  }
}

PreparedColumn row_ids_to_order(base::Queue& queue, const PreparedKeys& keys, const Order& order) {
  bool const numbered = order.technique == plan::Transform::kBucketChains ||
                        order.technique == plan::Transform::kRadixUnordered;
  if (!numbered || keys.source_rows != nullptr) return prepare_row_ids(queue, keys);
  PreparedColumn column;
  column.width = sizeof(uint32_t);
  return column;
}

}  // namespace gpujoin::transform
