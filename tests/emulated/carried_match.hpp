// carried_match.hpp: matches that write output columns, over partitions in the host's memory.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/match/carried_columns.cuh"
#include "tests/emulated/emulated_block.hpp"

namespace gpujoin_test {

namespace kernels = gpujoin::kernels;

// Mixed keys of both sides, of which the low radix_bits bits are the partition.
struct Sides {
  std::string name;
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
  int32_t radix_bits = 1;
  uint32_t partitions = 2;
};

// Launches of blocks that run one after the other, each with an order of threads of its own.
struct Launches {
  unsigned blocks = 2;
  uint64_t room = uint64_t{1} << 22;  // rows
  uint64_t seed = 1;
  uint32_t chunk() const {
    return seed % 2 == 0 ? kernels::kCarriedChunk : kernels::kLeastCarriedChunk;
  }
};

using RowPairs = std::vector<std::pair<uint64_t, uint64_t>>;

// One side in partitions: columns are the numbers of rows.
template <typename Key, typename Value>
struct Partitioned {
  std::vector<uint64_t> rows;
  std::vector<Key> keys;
  std::vector<uint32_t> offsets;
  std::vector<Value> numbers;

  Partitioned(std::vector<uint64_t> of_side, const Sides& sides) : rows(std::move(of_side)) {
    uint64_t const mask = (uint64_t{1} << sides.radix_bits) - 1;
    std::stable_sort(rows.begin(), rows.end(),
                     [mask](uint64_t a, uint64_t b) { return (a & mask) < (b & mask); });
    keys.assign(rows.begin(), rows.end());
    offsets.assign(sides.partitions + 1, 0);
    for (uint64_t const key : rows) ++offsets[(key & mask) + 1];
    for (uint32_t i = 0; i < sides.partitions; ++i) offsets[i + 1] += offsets[i];
    // Stages load whole vectors.
    numbers.resize(rows.size() + 16);
    for (size_t i = 0; i < rows.size(); ++i) numbers[i] = static_cast<Value>(i);
  }
};

// Memory for an output column, with what no row has.
template <typename Value>
struct Output {
  std::vector<uint4> room;
  Value* values;
  explicit Output(uint64_t rows)
      : room(rows * sizeof(Value) / sizeof(uint4) + 1,
             uint4{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}),
        values(reinterpret_cast<Value*>(room.data())) {}
};

// What was joined, and which partitions were left to another match.
struct Joined {
  uint64_t rows = 0;
  uint32_t left = 0;  // partitions
  bool has_room = true;
};

// Joins. Rows of partitions that were not left must come once each, with their keys, and none of
// the others; with too little room they are counted. Value: of the columns, the rows' numbers.
template <typename Match, typename Value>
Joined expect_joined(const Sides& sides, const Launches& launches) {
  using Key = typename Match::Key;
  SCOPED_TRACE(sides.name + ", seed " + std::to_string(launches.seed));
  Partitioned<Key, Value> const build(sides.build, sides);
  Partitioned<Key, Value> const probe(sides.probe, sides);
  std::vector<unsigned long long> unit_ends(sides.partitions);
  uint32_t const heavy_rows = Match::kUnitRows;
  unsigned long long units = 0;
  for (uint32_t i = 0; i < sides.partitions; ++i) {
    kernels::CarriedUnits const count{nullptr, Match::kUnitRows, heavy_rows};
    units +=
        count(i, build.offsets[i + 1] - build.offsets[i], probe.offsets[i + 1] - probe.offsets[i]);
    unit_ends[i] = units;
  }
  uint64_t const chunk = launches.chunk();
  uint64_t const capacity = (launches.room + chunk - 1) / chunk * chunk;
  Output<Value> build_numbers(capacity);
  Output<Value> probe_numbers(capacity);
  Output<Key> keys(capacity);
  std::vector<uint8_t> left(sides.partitions, 0);
  std::vector<unsigned long long> tails(launches.blocks);
  kernels::CarriedCounters counters{};

  typename Match::Join join{};
  join.build_keys = build.keys.data();
  join.probe_keys = probe.keys.data();
  join.build_offsets = build.offsets.data();
  join.probe_offsets = probe.offsets.data();
  join.radix_bits = sides.radix_bits;
  join.partitions = sides.partitions;
  join.unit_ends = unit_ends.data();
  join.heavy_rows = &heavy_rows;
  join.joins_all = true;
  join.most_match = true;
  join.left = left.data();
  join.counters = &counters;
  join.tails = tails.data();
  join.chunk = launches.chunk();
  join.capacity = capacity;
  auto const stage = static_cast<uint32_t>((sizeof(typename Match::Shared) + 15) / 16 * 16);
  uint32_t const behind = stage + kernels::stage_bytes(sizeof(Value));
  join.columns[0] = {build.numbers.data(), build_numbers.values, sizeof(Value),
                     kernels::CarriedFrom::kBuild, stage};
  join.columns[1] = {probe.numbers.data(), probe_numbers.values, sizeof(Value),
                     kernels::CarriedFrom::kProbe, kernels::kStagesProbe<Match> ? behind : 0};
  join.columns[2] = {nullptr, keys.values, sizeof(Key), kernels::CarriedFrom::kKey, 0};
  join.column_count = 3;
  soil_shared_memory();
  for (unsigned block = 0; block < launches.blocks; ++block) {
    run_block(block, launches.blocks, Match::kThreads, launches.seed * 1000 + block,
              [&] { kernels::carried_columns_kernel<Match>(join); });
  }

  Joined joined;
  joined.rows = counters.chunks * chunk - counters.holes + counters.missed;
  joined.left = static_cast<uint32_t>(
      std::count_if(left.begin(), left.end(), [](uint8_t each) { return each != 0; }));
  joined.has_room = counters.missed == 0 && counters.chunks * chunk <= capacity;
  std::multimap<uint64_t, uint64_t> rows_of_key;
  for (size_t i = 0; i < build.rows.size(); ++i) rows_of_key.emplace(build.rows[i], i);
  RowPairs expected;
  for (size_t i = 0; i < probe.rows.size(); ++i) {
    if (left[probe.rows[i] & ((uint64_t{1} << sides.radix_bits) - 1)] != 0) continue;
    auto const [first, last] = rows_of_key.equal_range(probe.rows[i]);
    for (auto row = first; row != last; ++row) expected.emplace_back(row->second, i);
  }
  EXPECT_EQ(joined.rows, expected.size());
  if (!joined.has_room || joined.rows != expected.size()) return joined;
  std::vector<bool> is_hole(counters.chunks * chunk, false);
  for (uint64_t tail = 0; tail < counters.tails; ++tail) {
    uint64_t const end = (tails[tail] / chunk + 1) * chunk;
    for (uint64_t place = tails[tail]; place < end; ++place) is_hole[place] = true;
  }
  RowPairs found;
  for (uint64_t place = 0; place < is_hole.size(); ++place) {
    Value const row = build_numbers.values[place];
    if (is_hole[place]) {
      EXPECT_EQ(row, static_cast<Value>(UINT64_MAX)) << "a hole at " << place;
      continue;
    }
    found.emplace_back(row, probe_numbers.values[place]);
    if (row >= build.rows.size()) continue;  // which the comparison says
    EXPECT_EQ(keys.values[place], kernels::unmix_key(build.keys[row])) << "at " << place;
  }
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == expected) << "the right number of rows, not the right ones";
  return joined;
}

}  // namespace gpujoin_test
