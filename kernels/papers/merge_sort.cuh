// merge_sort.cuh: keys with a column of values, sorted by comparing: tiles in shared memory, then
// runs merged in pairs
//
// Paper    Rui & Tu 2017, section 3.3.1, algorithms 4 (sort_tiles) and 5 (merge_runs)
// Differs  what moves through shared memory with a key is its place in the tile, 2 bytes, and not
//          its value, so a value of any width moves once a launch; and a merged tile is stored as
//          places, through which keys and values are then read: its rows come from two runs, in
//          order, so these reads are nearly coalesced
// In       rows.keys[n], rows.values[n]
// Out      rows.keys_out[n], rows.values_out[n]   ascending as unsigned bit patterns; equal keys
//          keep their order
// Launch   sort_tiles: a block a tile of kSortTile rows. Then for run = kSortTile, doubled while it
//          is less than n: merge_run_splits: a thread a tile; merge_runs: a block a tile
// Moves    sort_tiles and each merge_runs read and write keys and values once
//          (traffic::merge_sort)
#pragma once

#include <cstdint>

#include "kernels/merge_path.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key, typename Value>
struct SortRows {
  const Key* keys;
  const Value* values;
  Key* keys_out;
  Value* values_out;
  uint32_t rows;
};

// kSortItems neighbours of a thread, and as they lie in shared memory.
template <typename T>
struct alignas(16) SortItems {
  T item[kSortItems];
};

// Keys in shared memory with a gap after each 32: neighbouring threads work 4, 8 or 16 keys apart,
// and so meet different banks (sorting tiles of 2^27 (4 B, 4 B) rows on an H200: 2.45 ms without
// gaps, 2.09 ms with).
template <typename Key>
struct SpacedKeys {
  Key* keys;
  uint32_t begin;
  __device__ Key& operator[](uint32_t i) const { return keys[begin + i + (begin + i) / 32]; }
  __device__ SpacedKeys operator+(uint32_t rows) const { return {keys, begin + rows}; }
};
constexpr int kSpacedTile = kSortTile + kSortTile / 32 + 1;

// The next kSortItems keys of the merge of keys[first] to keys[first_end - 1] with keys[second] to
// keys[second_end - 1], and their places. One key beyond what is merged is looked at; what is
// merged beyond both ends has no meaning.
template <typename Keys, typename Key>
__device__ void merge_items(Keys keys, uint32_t first, uint32_t first_end, uint32_t second,
                            uint32_t second_end, SortItems<Key>* merged,
                            SortItems<uint16_t>* places) {
  Key first_key = keys[first];
  Key second_key = keys[second];
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    bool const take_second = first == first_end || (second < second_end && second_key < first_key);
    uint32_t const place = take_second ? second : first;
    merged->item[i] = take_second ? second_key : first_key;
    places->item[i] = static_cast<uint16_t>(place);
    Key const next = keys[place + 1];
    if (take_second) {
      second = place + 1;
      second_key = next;
    } else {
      first = place + 1;
      first_key = next;
    }
  }
}

// Odd-even transposition: only neighbours change places, so equal keys keep their order.
template <typename Key>
__device__ void sort_items(SortItems<Key>* keys, SortItems<uint16_t>* places) {
#pragma unroll
  for (int round = 0; round < kSortItems; ++round) {
#pragma unroll
    for (int i = round % 2; i + 1 < kSortItems; i += 2) {
      Key const left = keys->item[i];
      Key const right = keys->item[i + 1];
      uint16_t const left_place = places->item[i];
      uint16_t const right_place = places->item[i + 1];
      bool const swap = right < left;
      keys->item[i] = swap ? right : left;
      keys->item[i + 1] = swap ? left : right;
      places->item[i] = swap ? right_place : left_place;
      places->item[i + 1] = swap ? left_place : right_place;
    }
  }
}

// out[row] = value_at(places[row]) for the rows of a tile. 32 bytes a thread are under way
// together.
template <typename Value, typename ValueAt>
__device__ void move_values(const uint16_t* places, uint32_t count, Value* out, ValueAt value_at) {
  constexpr int kBatch = sizeof(Value) <= 4 ? kSortItems : 32 / static_cast<int>(sizeof(Value));
#pragma unroll
  for (int first = 0; first < kSortItems; first += kBatch) {
    Value moved[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      uint32_t const row = (first + i) * kSortThreads + threadIdx.x;
      if (row < count) moved[i] = value_at(places[row]);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      uint32_t const row = (first + i) * kSortThreads + threadIdx.x;
      if (row < count) out[row] = moved[i];
    }
  }
}

template <typename Key, typename Value>
__global__ void __launch_bounds__(kSortThreads, sort_blocks_per_sm(sizeof(Key)))
    sort_tiles_kernel(SortRows<Key, Value> rows) {
  __shared__ alignas(16) Key tile_keys[kSpacedTile];
  __shared__ alignas(16) uint16_t origins[kSortTile];
  SpacedKeys<Key> const keys{tile_keys, 0};
  auto* origin_items = reinterpret_cast<SortItems<uint16_t>*>(origins) + threadIdx.x;

  uint32_t const tile_begin = blockIdx.x * kSortTile;
  uint32_t const count = min(uint32_t{kSortTile}, rows.rows - tile_begin);
  // Rows beyond the end have the greatest key and a later place, so they stay at the end.
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    uint32_t const row = i * kSortThreads + threadIdx.x;
    keys[row] = row < count ? rows.keys[tile_begin + row] : static_cast<Key>(~Key{0});
  }
  __syncthreads();

  uint32_t const begin = threadIdx.x * kSortItems;
  SortItems<Key> sorted;
  SortItems<uint16_t> origin;
  const auto keep = [&] {
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) keys[begin + i] = sorted.item[i];
    *origin_items = origin;
    __syncthreads();
  };
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    sorted.item[i] = keys[begin + i];
    origin.item[i] = static_cast<uint16_t>(begin + i);
  }
  sort_items(&sorted, &origin);
  keep();
  for (uint32_t run = kSortItems; run < kSortTile; run *= 2) {
    uint32_t const first = begin & ~(2 * run - 1);
    uint32_t const second = first + run;
    uint32_t const taken = merge_path(keys + first, run, keys + second, run, begin - first);
    SortItems<uint16_t> places;
    merge_items(keys, first + taken, second, begin + run - taken, second + run, &sorted, &places);
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) origin.item[i] = origins[places.item[i]];
    __syncthreads();
    keep();
  }

#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    uint32_t const row = i * kSortThreads + threadIdx.x;
    if (row < count) rows.keys_out[tile_begin + row] = keys[row];
  }
  // The tile's values are picked in any order: from the keys' place where they fit it, otherwise
  // from the cache.
  const Value* values = rows.values + tile_begin;
  if constexpr (sizeof(Value) <= sizeof(Key)) {
    __syncthreads();
    auto* staged = reinterpret_cast<Value*>(tile_keys);
#pragma unroll
    for (int i = 0; i < kSortItems; ++i) {
      uint32_t const row = i * kSortThreads + threadIdx.x;
      if (row < count) staged[row] = values[row];
    }
    __syncthreads();
    values = staged;
  }
  move_values(origins, count, rows.values_out + tile_begin,
              [&](uint32_t place) { return values[place]; });
}

// The two runs that the output from `row` on is merged from, the second after the first.
struct RunPair {
  uint32_t begin;
  uint32_t first;   // rows of the first run
  uint32_t second;  // rows of the second, 0 when there is none
};

// run: rows of each run but the last, a power of two.
__device__ inline RunPair runs_around(uint32_t row, uint64_t run, uint32_t rows) {
  uint64_t const begin = row & ~(2 * run - 1);
  uint64_t const rest = rows - begin;
  uint64_t const first = min(run, rest);
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(first),
          static_cast<uint32_t>(min(run, rest - first))};
}

// splits[tile]: rows of the first run that come before the tile.
template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    merge_run_splits_kernel(const Key* __restrict__ keys, uint32_t rows, uint64_t run,
                            uint32_t tiles, uint32_t* __restrict__ splits) {
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  if (tile >= tiles) return;
  uint32_t const row = tile * kSortTile;
  RunPair const runs = runs_around(row, run, rows);
  const Key* first = keys + runs.begin;
  splits[tile] = merge_path(first, runs.first, first + runs.first, runs.second, row - runs.begin);
}

template <typename Key, typename Value>
__global__ void __launch_bounds__(kSortThreads, sort_blocks_per_sm(sizeof(Key)))
    merge_runs_kernel(SortRows<Key, Value> rows, uint64_t run, const uint32_t* splits) {
  __shared__ Key keys[kSortTile + 1];
  __shared__ alignas(16) uint16_t places[kSortTile];

  uint32_t const tile_begin = blockIdx.x * kSortTile;
  uint32_t const count = min(uint32_t{kSortTile}, rows.rows - tile_begin);
  RunPair const runs = runs_around(tile_begin, run, rows.rows);
  uint32_t const diagonal = tile_begin - runs.begin;
  bool const ends_pair = diagonal + count == runs.first + runs.second;
  uint32_t const split = splits[blockIdx.x];
  uint32_t const first_count = (ends_pair ? runs.first : splits[blockIdx.x + 1]) - split;
  // In the tile lie the rows of the first run, then those of the second.
  uint32_t const first_rows = runs.begin + split;
  uint32_t const second_rows = runs.begin + runs.first + (diagonal - split) - first_count;
  const auto source = [&](uint32_t place) {
    return (place < first_count ? first_rows : second_rows) + place;
  };

  Key loaded[kSortItems];
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    uint32_t const place = i * kSortThreads + threadIdx.x;
    if (place < count) loaded[i] = rows.keys[source(place)];
  }
  if constexpr (sizeof(Value) <= 4) {
    // Narrow values are on their way while keys are merged. Wider ones would only queue before
    // other blocks' keys.
    constexpr uint32_t kLineValues = 128 / sizeof(Value);
    for (uint32_t place = threadIdx.x * kLineValues; place < count;
         place += kSortThreads * kLineValues) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(rows.values + source(place)));
    }
  }
#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    uint32_t const place = i * kSortThreads + threadIdx.x;
    if (place < count) keys[place] = loaded[i];
  }
  __syncthreads();

  uint32_t const step = min(threadIdx.x * kSortItems, count);
  uint32_t const taken =
      merge_path(keys, first_count, keys + first_count, count - first_count, step);
  SortItems<Key> merged;
  SortItems<uint16_t> merged_places;
  merge_items(keys, taken, first_count, first_count + step - taken, count, &merged, &merged_places);
  reinterpret_cast<SortItems<uint16_t>*>(places)[threadIdx.x] = merged_places;
  __syncthreads();

#pragma unroll
  for (int i = 0; i < kSortItems; ++i) {
    uint32_t const row = i * kSortThreads + threadIdx.x;
    if (row < count) rows.keys_out[tile_begin + row] = keys[places[row]];
  }
  move_values(places, count, rows.values_out + tile_begin,
              [&](uint32_t place) { return rows.values[source(place)]; });
}

}  // namespace gpujoin::kernels
