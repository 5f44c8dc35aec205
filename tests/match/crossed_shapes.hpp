// crossed_shapes.hpp: mixed keys of both sides that tell matches by key apart, for a device and for
// the host that emulates one. Shape: begins with a name, and keys of the build and the probe side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/tuning.hpp"

namespace gpujoin_test {

// A mixed key of a partition and a bucket: keys that differ in the id alone lie in one bucket.
inline uint64_t key_in(int32_t radix_bits, uint64_t partition, uint64_t bucket, uint64_t id) {
  return partition | bucket << radix_bits |
         id << (radix_bits + gpujoin::kernels::kCarriedBucketBits);
}

inline void shuffle(std::vector<uint64_t>* keys, uint64_t seed) {
  std::shuffle(keys->begin(), keys->end(), std::mt19937_64(seed));
}

template <typename Shape>
void add_rows(uint64_t key, size_t build, size_t probe, Shape* shape) {
  shape->build.insert(shape->build.end(), build, key);
  shape->probe.insert(shape->probe.end(), probe, key);
}
template <typename Shape>
Shape shuffled(Shape shape, uint64_t seed) {
  shuffle(&shape.build, seed);
  shuffle(&shape.probe, seed + 1);
  return shape;
}

// Units with matches of vectors alone, behind ones that end anywhere.
template <typename Shape>
Shape threes_then_fours(int32_t radix_bits) {
  Shape shape{"three rows, then fours", {}, {}};
  for (uint64_t partition = 0; partition < uint64_t{1} << radix_bits; ++partition) {
    bool const is_odd = partition % 3 == 0;
    for (uint64_t id = 0; id < 3; ++id) {
      uint64_t const key = key_in(radix_bits, partition, 7 * partition % 4096, id);
      add_rows(key, is_odd ? 3 + id : 4 * (id + 1), is_odd ? 1 + id : 8, &shape);
    }
  }
  return shuffled(std::move(shape), 1);
}

// Of two partitions all in the first one, of 90 keys.
template <typename Shape>
Shape rows_of_90_keys(size_t rows, size_t probes) {
  Shape shape{std::to_string(rows) + " rows", {}, {}};
  for (uint64_t i = 0; i < rows; ++i) shape.build.push_back(key_in(1, 0, i % 90, 1));
  for (uint64_t i = 0; i < probes; ++i) shape.probe.push_back(key_in(1, 0, i % 100, 1));
  return shuffled(std::move(shape), rows);
}

// Of four partitions the first has so many keys and 40, the second of its two tables so many, less
// those before `from`, in the first and few in the second, the third few. Partitions keep the
// order.
template <typename Shape>
Shape many_keys(uint64_t keys, uint64_t from) {
  constexpr int32_t kBits = 2;
  Shape shape{std::to_string(keys) + " keys", {}, {}};
  for (uint64_t id = 0; id < keys; ++id) {
    uint64_t const bucket = id % 4000;
    add_rows(key_in(kBits, 0, bucket, id / 4000), 1, 2, &shape);
    if (id >= from) add_rows(key_in(kBits, 1, bucket, id / 4000), 1, 1, &shape);
  }
  for (uint64_t id = 0; id < 40; ++id) add_rows(key_in(kBits, 0, 4001 + id, 9), 50, 3, &shape);
  for (uint64_t id = 0; id < 60; ++id) add_rows(key_in(kBits, 1, 4001 + id, 9), 90, 3, &shape);
  for (uint64_t id = 0; id < 50; ++id) add_rows(key_in(kBits, 2, 40 + id, 9), 30, 9, &shape);
  return shape;
}

// Of two partitions the first has so many keys in one bucket, the second 20 in as many.
template <typename Shape>
Shape keys_of_a_bucket(uint64_t keys, size_t probes) {
  Shape shape{std::to_string(keys) + " keys of a bucket", {}, {}};
  for (uint64_t id = 0; id < keys; ++id) {
    add_rows(key_in(1, 0, 77, id), 2 + id % 3, probes / keys, &shape);
  }
  for (uint64_t id = 0; id < 20; ++id) add_rows(key_in(1, 1, 40 * id, 1), 40, 90, &shape);
  return shuffled(std::move(shape), keys);
}

}  // namespace gpujoin_test
