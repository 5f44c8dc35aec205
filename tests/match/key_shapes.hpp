// key_shapes.hpp: pairs of key columns that have found mistakes in joins, the pairs they must give,
// and a run of a family.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/match/match.hpp"
#include "tests/caller_allocator.hpp"

namespace gpujoin::tests {

struct KeyShape {
  std::string name;
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
};

// 0, stride, 2 * stride ... in random order: every key once.
inline std::vector<uint64_t> unique_keys(size_t rows, uint64_t stride, uint64_t seed) {
  std::vector<uint64_t> keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = i * stride;
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(seed));
  return keys;
}

// A few keys often, most of them seldom.
inline std::vector<uint64_t> skewed_keys(size_t rows, uint64_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) {
    double const u = uniform(random);
    key = static_cast<uint64_t>(u * u * u * static_cast<double>(distinct));
  }
  return keys;
}

inline std::vector<uint64_t> joined(std::vector<uint64_t> first,
                                    const std::vector<uint64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline std::vector<KeyShape> key_shapes(int32_t key_width) {
  uint64_t const stride = key_width == 8 ? 0x100000003ULL : 1;
  uint64_t const most = key_width == 8 ? UINT64_MAX : UINT32_MAX;
  std::vector<KeyShape> shapes;
  for (size_t rows : edge_sizes()) {
    std::string const text = std::to_string(rows);
    shapes.push_back({"random_" + text, random_keys(rows, rows + 1, stride, rows),
                      random_keys(rows, rows + 1, stride, rows + 1)});
    shapes.push_back({"unique_" + text, unique_keys(rows, stride, rows),
                      random_keys(rows + 5, rows + 1, stride, rows + 2)});
    shapes.push_back({"one_build_row_" + text, {stride}, random_keys(rows, 3, stride, rows)});
    shapes.push_back({"one_probe_row_" + text, random_keys(rows, 3, stride, rows), {stride}});
  }
  // Build and probe rows together at the edges of merge tiles.
  for (size_t build : {1023, 1024, 1025}) {
    shapes.push_back({"both_" + std::to_string(build), unique_keys(build, stride, 1),
                      unique_keys(1024, stride, 2)});
  }
  // A table of co-partitions holds 4096 rows.
  for (size_t build : {4095, 4096, 4097, 8193}) {
    shapes.push_back({"table_" + std::to_string(build), unique_keys(build, stride, 3),
                      random_keys(5000, build * 2, stride, 4)});
  }
  shapes.push_back({"duplicates_on_the_build_side", random_keys(6000, 1500, stride, 5),
                    unique_keys(3000, stride, 6)});
  shapes.push_back({"duplicates_on_the_probe_side", unique_keys(3000, stride, 7),
                    random_keys(6000, 1500, stride, 8)});
  shapes.push_back({"duplicates_on_both", random_keys(5000, 400, stride, 9),
                    random_keys(3000, 400, stride, 10)});
  shapes.push_back({"all_equal", std::vector<uint64_t>(300, 7 * stride),
                    std::vector<uint64_t>(400, 7 * stride)});
  shapes.push_back({"heavy_build_key",
                    joined(std::vector<uint64_t>(5000, stride), unique_keys(3000, stride, 11)),
                    joined(unique_keys(2000, stride, 12), std::vector<uint64_t>(40, stride))});
  shapes.push_back({"heavy_probe_key", unique_keys(3000, stride, 13),
                    joined(std::vector<uint64_t>(40000, 2 * stride), unique_keys(9, stride, 1))});
  shapes.push_back(
      {"skewed", skewed_keys(4000, 3000, 14), skewed_keys(9000, 3000, 15)});  // about 200 000 pairs
  shapes.push_back({"no_match", random_keys(3000, 5000, 2 * stride, 16), [stride] {
                      std::vector<uint64_t> odd = random_keys(4000, 5000, 2 * stride, 17);
                      for (uint64_t& key : odd) key += 1;
                      return odd;
                    }()});
  shapes.push_back({"below_and_above", random_keys(3000, 500, 1, 18),
                    joined(std::vector<uint64_t>(2500, most), std::vector<uint64_t>(3, 17))});
  // No key value is reserved: free slots, the ends of chains and of the order.
  shapes.push_back({"extreme_keys",
                    {0, most, most, most - 1, most >> 1, (most >> 1) + 1, 0xffff, 0xfffe, 1, 0},
                    {most, 0, most - 1, 1, (most >> 1) + 1, 0xffff, 0x10000, most, most >> 1}});
  if (key_width == 8) {
    shapes.push_back({"equal_low_halves", unique_keys(1500, uint64_t{1} << 32, 19),
                      random_keys(1500, 2500, uint64_t{1} << 32, 20)});
    shapes.push_back(
        {"equal_high_halves", unique_keys(5000, 1, 21), random_keys(5000, 9000, 1, 22)});
  }
  return shapes;
}

// What a family reads: keys in the order it wants them, and what to write for each position.
struct Arranged {
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
  std::vector<uint32_t> build_ids;  // empty: positions
  std::vector<uint32_t> probe_ids;
};

// A pair as one number, the probe row above.
using Pairs = std::vector<uint64_t>;

inline Pairs expected_pairs(const Arranged& keys) {
  std::unordered_map<uint64_t, std::vector<uint32_t>> rows_of_key;
  for (uint32_t row = 0; row < keys.build.size(); ++row) {
    rows_of_key[keys.build[row]].push_back(keys.build_ids.empty() ? row : keys.build_ids[row]);
  }
  Pairs pairs;
  for (uint32_t row = 0; row < keys.probe.size(); ++row) {
    auto const found = rows_of_key.find(keys.probe[row]);
    if (found == rows_of_key.end()) continue;
    uint64_t const id = keys.probe_ids.empty() ? row : keys.probe_ids[row];
    for (uint32_t build : found->second) pairs.push_back(id << 32 | build);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Row ids that no position could be mistaken for.
inline void set_row_ids(Arranged* keys) {
  keys->build_ids.resize(keys->build.size());
  keys->probe_ids.resize(keys->probe.size());
  for (uint32_t i = 0; i < keys->build_ids.size(); ++i) keys->build_ids[i] = 0xfffffffeU - 3 * i;
  for (uint32_t i = 0; i < keys->probe_ids.size(); ++i) keys->probe_ids[i] = 0x70000000U + 5 * i;
}

// The family to run over the sides' keys in device memory.
using Family = std::function<void(base::Queue& queue, const match::MatchSide& build,
                                  const match::MatchSide& probe, output::GrowingPairs& pairs)>;

// Runs the family and compares; answers how often the output had to be given room.
inline int32_t expect_join(base::Queue& queue, const Arranged& keys, int32_t key_width,
                           const Family& family, uint64_t first_capacity) {
  columns::DeviceColumn const build_keys = place(queue, key_column(keys.build, key_width));
  columns::DeviceColumn const probe_keys = place(queue, key_column(keys.probe, key_width));
  base::Buffer const build_ids = upload(queue, keys.build_ids);
  base::Buffer const probe_ids = upload(queue, keys.probe_ids);
  match::MatchSide const build{build_keys.data, static_cast<uint32_t>(keys.build.size()),
                               build_ids.as<uint32_t>()};
  match::MatchSide const probe{probe_keys.data, static_cast<uint32_t>(keys.probe.size()),
                               probe_ids.as<uint32_t>()};
  output::GrowingPairs output(queue, first_capacity);
  family(queue, build, probe, output);
  output.finish();
  Pairs const expected = expected_pairs(keys);
  EXPECT_EQ(output.rows(), expected.size());
  if (output.rows() != expected.size()) return output.resumes();
  std::vector<uint32_t> const build_rows =
      download<uint32_t>(queue, output.build(), expected.size());
  std::vector<uint32_t> const probe_rows =
      download<uint32_t>(queue, output.probe(), expected.size());
  Pairs found(expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    found[i] = uint64_t{probe_rows[i]} << 32 | build_rows[i];
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of pairs, not the right ones";
  return output.resumes();
}

// Every shape of both key widths, with and without row ids; answers the resumes of all of them.
inline int32_t expect_every_shape(
    base::Queue& queue, const std::function<Arranged(const KeyShape&)>& arrange,
    const std::function<Family(int32_t key_width, const Arranged&)>& family,
    uint64_t first_capacity) {
  int32_t resumes = 0;
  for (int32_t key_width : {4, 8}) {
    for (KeyShape const& shape : key_shapes(key_width)) {
      Arranged keys = arrange(shape);
      for (bool row_ids : {false, true}) {
        if (row_ids) set_row_ids(&keys);
        SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes" +
                     (row_ids ? ", row ids" : ""));
        resumes += expect_join(queue, keys, key_width, family(key_width, keys), first_capacity);
        if (::testing::Test::HasFailure()) return resumes;
      }
    }
  }
  return resumes;
}

}  // namespace gpujoin::tests
