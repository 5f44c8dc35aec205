// sample_buffers.cuh: what the kernels of a key sample hand on to each other
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
#pragma once

#include <cstdint>

#include "kernels/sample/sampled_column.cuh"

namespace gpujoin::kernels {

// The keys drawn from a side, by position. A key that was drawn more than once is at one of its
// positions. By their hashes they are of parts, each of which a block makes: one block takes 12 us
// for all. A part has as many slots as there are positions, should it be the part of all keys.
constexpr uint32_t kSampleParts = 4;

template <typename Rule, typename Key>
struct SampleTable {
  static_assert(Rule::kPositions <= 1 << 15);
  Key keys[Rule::kPositions];
  int16_t slots[kSampleParts][Rule::kPositions];  // positions of keys, or -1
  // Of the key at this position; 0: it is none, or it is at another one.
  uint32_t draws[Rule::kPositions];

  __device__ static uint32_t part_of(Key key) { return Rule::sample_hash(key) % kSampleParts; }
  __device__ static uint32_t slot_of(Key key) {
    return Rule::sample_hash(key) / kSampleParts % Rule::kPositions;
  }
  __device__ static uint32_t slot_after(uint32_t slot) { return (slot + 1) % Rule::kPositions; }
};

// Where a key is among those drawn from the probe side, or -1.
template <typename Rule, typename Key>
__device__ int32_t drawn_position(const SampleTable<Rule, Key>& table, Key key) {
  using Table = SampleTable<Rule, Key>;
  const int16_t* const slots = table.slots[Table::part_of(key)];
  uint32_t slot = Table::slot_of(key);
  for (int32_t looked = 0; looked < Rule::kPositions; ++looked) {
    int32_t const position = slots[slot];
    if (position < 0 || table.keys[position] == key) return position;
    slot = Table::slot_after(slot);
  }
  return -1;
}

// One of some keys in registers, which have no index.
template <int kItems, typename Key>
__device__ __forceinline__ Key key_of_item(const Key (&keys)[kItems], int item) {
  Key key = keys[0];
#pragma unroll
  for (int other = 1; other < kItems; ++other) key = item == other ? keys[other] : key;
  return key;
}

// The build side's hot keys, in any order, by the parts of the table.
template <typename Rule, typename Key>
struct HotKeyTable {
  uint32_t counts[kSampleParts];
  uint32_t blocks_done;  // of the kernel that counts their rows
  Key keys[kSampleParts][Rule::kMostHotKeys];
  // Of each side, which are fewer than 2^32.
  uint32_t build_rows[Rule::kMostHotKeys];
  uint32_t probe_rows[Rule::kMostHotKeys];

  __device__ uint32_t count() const {
    uint32_t count = 0;
    for (uint32_t of_part : counts) count += of_part;
    return count;
  }
  // expected: i < count()
  __device__ Key key(uint32_t i) const {
    uint32_t part = 0;
    while (i >= counts[part]) i -= counts[part++];
    return keys[part][i];
  }
};

template <typename Key>
struct DrawnSums {
  uint32_t valid = 0;
  uint32_t distinct = 0;
  uint32_t most = 0;
  uint32_t heavy = 0;
  uint32_t descents = 0;
  SampledBounds<Key> bounds;

  __device__ void add(const DrawnSums& other) {
    valid += other.valid;
    distinct += other.distinct;
    most = max(most, other.most);
    heavy += other.heavy;
    descents += other.descents;
    bounds.add(other.bounds);
  }
};

struct AddSums {
  template <typename Sums>
  __device__ Sums operator()(Sums sums, const Sums& other) const {
    sums.add(other);
    return sums;
  }
};

// What a block found: of the keys of a part, and of a share of the positions.
template <typename Rule, typename Key>
struct DrawnPart {
  DrawnSums<Key> sums;
  uint32_t to_next[Rule::kDistances];
  uint32_t to_neighbour[Rule::kDistances];
};

// What the draw has made for the scan beside it. All 0 before, and again when the sums are made.
struct SampleFlags {
  uint32_t has_filter;  // and probe_bounds
  uint32_t has_table[kSampleParts];
};

template <typename Rule, typename Key>
struct SampleBuffers {
  typename Rule::Findings findings;
  DrawnPart<Rule, Key> build[kSampleParts];
  DrawnPart<Rule, Key> probe[kSampleParts];
  WideBounds bounds;          // of the scanned rows
  unsigned long long within;  // of them, with a key within probe_bounds
  HotKeyTable<Rule, Key> hot;
  // What the scan reads while others are still written has lines of its own.
  alignas(128) SampledBounds<Key> probe_bounds;      // of the keys of the table
  alignas(128) uint32_t filter[Rule::kFilterWords];  // over them
  alignas(128) SampleTable<Rule, Key> table;
  // Of keys[i], in the scanned rows, which are fewer than 2^32; tiles counts three for any more.
  alignas(128) uint32_t rows[Rule::kPositions];
  uint32_t tiles[Rule::kPositions];
};

}  // namespace gpujoin::kernels
