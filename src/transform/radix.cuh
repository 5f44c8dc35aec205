// radix.cuh: stable radix order by a range of key bits, with CUB's one-sweep radix sort
//
// Paper    RADIX-PARTITION and SORT-PAIRS of Wu et al. 2024, sections 2.3, 4.2 and 4.3; Adinets &
//          Merrill 2022 (one-sweep)
// Moves    one read of the keys, then each pass of 8 bits reads and writes keys and values
//          (traffic::radix_sort)
// Stable   yes: the same keys give the same order with any value column, which gather-transformed
//          needs
//
// Included by one file per key width: each (key, value) type is a set of kernels of its own.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include "kernels/value_type.cuh"
#include "src/base/device.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// Implemented in radix_4_byte_keys.cu and radix_8_byte_keys.cu.
template <typename Key>
void radix_order(base::Queue& queue, const Key* keys, Key* keys_out, const void* values,
                 void* values_out, int32_t value_width, uint32_t rows, KeyBits bits);

template <typename Key, typename Value>
void radix_order_of(base::Queue& queue, const Key* keys, Key* keys_out, const void* values,
                    void* values_out, uint32_t rows, KeyBits bits) {
  auto const* in = static_cast<const Value*>(values);
  auto* out = static_cast<Value*>(values_out);
  size_t bytes = 0;
  base::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, keys_out, in, out, rows,
                                              bits.begin, bits.end, base::stream_of(queue)),
              "sizing a radix order");
  base::Buffer const storage =
      queue.device_pool->allocate(base::Memory::kDevice, bytes, "radix order storage");
  base::check(cub::DeviceRadixSort::SortPairs(storage.data(), bytes, keys, keys_out, in, out, rows,
                                              bits.begin, bits.end, base::stream_of(queue)),
              "ordering by key bits");
}

template <typename Key>
void radix_order(base::Queue& queue, const Key* keys, Key* keys_out, const void* values,
                 void* values_out, int32_t value_width, uint32_t rows, KeyBits bits) {
  kernels::with_value_type(value_width, [&](auto value) {
    radix_order_of<Key, decltype(value)>(queue, keys, keys_out, values, values_out, rows, bits);
  });
}

}  // namespace gpujoin::transform
