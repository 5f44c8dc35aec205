// gather_bytes.cuh: values of any number of bytes by row number
//
// Source   ours
// In       rows[count]     uint32, or kMissingRow; null: the identity
//          values          a BytesColumn, and its validity
// Out      target          the values' bytes, one after the other; zeros for those of a row without
//                          a value where all have as many, else none
//          offsets[count + 1]  int32 or int64, from 0 on, of values that have a length each
//          validity and null_count as gathered_rows.cuh has them
// Needs    lengths and places for whole tiles, one of which has a row `count`; tile_starts and
//          unit_starts summed up between the two kernels
// Launch   find_bytes: a block of kStreamThreads a tile of kStreamTile rows; gather_bytes,
//          gather_fixed: a block a unit
// Moves    find_bytes: 4 bytes of row number, a random sector of offsets, 8 or 16 bytes written.
//          gather_bytes: those 8 or 16, the sectors that a value's bytes lie in, they and 4 or 8 of
//          offset written. A value's offsets are read at random once: where they point is kept.
//          gather_fixed: 4 bytes of row number, a value's sectors, its bytes written
//
// A tile's output bytes are cut into units, so that a value of megabytes, or a tile of many long
// ones, keeps more than one block busy; most tiles have one. Threads take the words of a unit, not
// its rows: lanes write neighbouring words, whatever lies in them, and read what is neighbours in
// a value. Which value a word begins in a bisection in shared memory tells, some 40 instructions.
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <type_traits>

#include "kernels/block_sync.cuh"
#include "kernels/bytes_column.hpp"
#include "kernels/keys/load_bytes.hpp"
#include "kernels/materialize/gathered_rows.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Output bytes of a unit. Of rows of less than 128 bytes all tiles have one unit, whose block need
// not look for its tile.
constexpr uint32_t kUnitBytes = 128 * 1024;

// What the host waits for, to allocate and to launch by.
struct GatherTotals {
  unsigned long long bytes;
  unsigned long long null_count;
  unsigned long long units;
};

__device__ __forceinline__ uint64_t units_of(uint64_t bytes) {
  return bytes <= kUnitBytes ? 1 : (bytes + kUnitBytes - 1) / kUnitBytes;
}

// ---- values with a length each: where they lie ----

// Counted from BytesColumn::bytes, or an address.
template <BytesLayout kLayout>
struct PlaceOf {
  using Type = uint64_t;
};
template <>
struct PlaceOf<BytesLayout::kOffsets32> {
  using Type = uint32_t;
};

template <typename Place>
struct BytesToFind {
  RowsToGather rows;
  BytesColumn values;
  Place* places;  // [tiles * kStreamTile], as lengths are: 0 behind the last row
  Place* lengths;
  unsigned long long* tile_bytes;  // [tiles]
  unsigned long long* tile_units;
  GatherTotals* totals;  // 0
};

// Where the values of a thread's rows lie. Offsets of all rows are read before any is looked at, so
// that the reads are under way at once; those of NULLs too, which need not wait for validity.
template <BytesLayout kLayout>
__device__ __forceinline__ void find_spans(const BytesColumn& values, const ThreadRows& found,
                                           ByteSpan (&spans)[kStreamItems]) {
  if constexpr (kLayout == BytesLayout::kViews) {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (found.valid[item]) spans[item] = bytes_of_view(values, found.rows[item]);
    }
  } else {
    using Offset = std::conditional_t<kLayout == BytesLayout::kOffsets32, int32_t, int64_t>;
    auto const* const offsets = static_cast<const Offset*>(values.places);
    Offset begins[kStreamItems] = {};
    Offset ends[kStreamItems] = {};
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (found.rows[item] == kMissingRow) continue;
      begins[item] = __ldg(&offsets[found.rows[item]]);
      ends[item] = __ldg(&offsets[uint64_t{found.rows[item]} + 1]);
    }
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      // A producer's offsets may go back, or out of its bytes: that is a value of no bytes.
      const uint8_t* const begin = values.bytes + begins[item];
      const uint8_t* const end = values.bytes + ends[item];
      bool const is_within = begin >= values.first && end <= values.end && begin < end;
      if (found.valid[item] && is_within) spans[item] = {begin, static_cast<uint64_t>(end - begin)};
    }
  }
}

template <BytesLayout kLayout>
__global__ void __launch_bounds__(kStreamThreads)
    find_bytes_kernel(const __grid_constant__ BytesToFind<typename PlaceOf<kLayout>::Type> args) {
  using Place = typename PlaceOf<kLayout>::Type;
  using Sum = cub::BlockReduce<unsigned long long, kStreamThreads>;
  __shared__ typename Sum::TempStorage sum_storage;
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  ThreadRows const found = load_rows(args.rows, tile);
  ByteSpan spans[kStreamItems];
  find_spans<kLayout>(args.values, found, spans);
  unsigned long long bytes = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = tile + item * kStreamThreads + threadIdx.x;
    uint64_t const origin =
        kLayout == BytesLayout::kViews ? 0 : reinterpret_cast<uintptr_t>(args.values.bytes);
    uint64_t const address = reinterpret_cast<uintptr_t>(spans[item].data);
    args.places[at] = static_cast<Place>(address - origin);
    args.lengths[at] = static_cast<Place>(spans[item].count);
    bytes += spans[item].count;
  }
  write_validity(args.rows, found, tile);
  bytes = Sum(sum_storage).Sum(bytes);
  if (threadIdx.x != 0) return;
  args.tile_bytes[blockIdx.x] = bytes;
  args.tile_units[blockIdx.x] = units_of(bytes);
  atomicAdd(&args.totals->bytes, bytes);
  atomicAdd(&args.totals->units, static_cast<unsigned long long>(units_of(bytes)));
}

// ---- a unit: where its values begin, and its words ----

// Values of a tile as far as they lie in the unit.
struct UnitValues {
  alignas(16) uint32_t starts[kStreamTile + 1];  // among the unit's bytes; ends with their number
  alignas(16) uint64_t sources[kStreamTile];     // addresses; 0: zeros

  // A value of the bytes of the tile from `begin` on.
  __device__ __forceinline__ void place(uint32_t value, uint64_t begin, uint64_t source,
                                        uint64_t unit_begin, uint32_t unit_bytes) {
    bool const is_cut = begin < unit_begin;
    starts[value] =
        is_cut ? 0 : static_cast<uint32_t>(min(begin - unit_begin, uint64_t{unit_bytes}));
    sources[value] = is_cut && source != 0 ? source + (unit_begin - begin) : source;
  }

  // The value that has the byte. expected: there is one.
  __device__ __forceinline__ uint32_t value_at(uint32_t byte) const {
    uint32_t value = 0;
#pragma unroll
    for (uint32_t step = kStreamTile / 2; step != 0; step /= 2) {
      if (starts[value + step] <= byte) value += step;
    }
    return value;
  }
};
static_assert((kStreamTile & (kStreamTile - 1)) == 0, "a bisection halves it");

// What may be read around values; null: nothing but their own bytes.
struct Readable {
  const uint8_t* first;
  const uint8_t* end;
};

// `count` bytes of the unit, at most 8, of as many values as they are of.
__device__ __forceinline__ uint64_t bytes_of_unit(const UnitValues& unit, uint32_t at,
                                                  uint32_t count, const Readable& readable) {
  uint64_t found = 0;
  uint32_t done = 0;
  uint32_t value = unit.value_at(at);
  while (true) {
    uint32_t const begin = unit.starts[value];
    uint32_t const end = unit.starts[value + 1];
    uint32_t const take = min(end - (at + done), count - done);
    uint64_t const source = unit.sources[value];
    if (source != 0) {
      auto const* const data = reinterpret_cast<const uint8_t*>(source);
      bool const is_alone = readable.end == nullptr;
      LoadableBytes const loadable = {data, end - begin, is_alone ? data : readable.first,
                                      is_alone ? data + (end - begin) : readable.end};
      found |= load_bytes(loadable, at + done - begin, take) << (8 * done);
    }
    done += take;
    if (done == count) return found;
    ++value;
    // Any number of values have no bytes.
    if (unit.starts[value + 1] == at + done) value = unit.value_at(at + done);
  }
}

// All threads of the block.
__device__ __forceinline__ void copy_unit(const UnitValues& unit, uint32_t bytes, uint8_t* target,
                                          const Readable& readable) {
  auto const misplaced = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(target) % 8);
  uint32_t const head = min(bytes, (8 - misplaced) % 8);
  uint32_t const words = (bytes - head) / 8;
  auto* const target_words = reinterpret_cast<unsigned long long*>(target + head);
  for (uint32_t word = threadIdx.x; word < words; word += kStreamThreads) {
    __stcs(&target_words[word],
           static_cast<unsigned long long>(bytes_of_unit(unit, head + 8 * word, 8, readable)));
  }
  // The words at both ends are the neighbours', too.
  uint32_t const tail = head + 8 * words;
  uint32_t const at = threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head;
  if (at < bytes) target[at] = static_cast<uint8_t>(bytes_of_unit(unit, at, 1, readable));
}

// The last tile that begins at or before the unit; the block looks at as many as it has threads at
// a time, so 2^16 tiles take two reads one after the other and not sixteen.
__device__ __forceinline__ uint64_t tile_of_unit(const unsigned long long* unit_starts,
                                                 uint64_t tiles, uint64_t unit) {
  uint64_t begin = 0;
  uint64_t end = tiles;
  while (end - begin > 1) {
    uint64_t const step = (end - begin + kStreamThreads - 1) / kStreamThreads;
    uint64_t const tile = begin + step * threadIdx.x;
    int const not_above = __syncthreads_count(tile < end && unit_starts[tile] <= unit ? 1 : 0);
    begin += step * static_cast<uint64_t>(not_above - 1);
    end = min(end, begin + step);
  }
  return begin;
}

// ---- values with a length each: copied ----

template <typename Place, typename Offset>
struct BytesToCopy {
  const Place* places;
  const Place* lengths;
  uint64_t origin;  // of places
  uint64_t count;
  uint64_t tiles;
  const unsigned long long* tile_starts;  // [tiles], of bytes
  const unsigned long long* unit_starts;  // [tiles]; null: each tile has one
  Readable readable;
  Offset* offsets;
  uint8_t* target;
};

// Of neighbouring rows: a thread's.
template <typename Number>
struct alignas(16) Neighbours {
  Number of[kStreamItems];
};

template <typename Number>
__device__ __forceinline__ Neighbours<Number> load_neighbours(const Number* first) {
  return *reinterpret_cast<const Neighbours<Number>*>(first);
}

template <typename Place, typename Offset>
__global__ void __launch_bounds__(kStreamThreads)
    gather_bytes_kernel(const __grid_constant__ BytesToCopy<Place, Offset> args) {
  using Scan = cub::BlockScan<unsigned long long, kStreamThreads>;
  __shared__ typename Scan::TempStorage scan_storage;
  __shared__ UnitValues unit;
  uint64_t tile = blockIdx.x;
  uint64_t part = 0;
  if (args.unit_starts != nullptr) {
    tile = tile_of_unit(args.unit_starts, args.tiles, blockIdx.x);
    part = blockIdx.x - args.unit_starts[tile];
  }
  uint32_t const first_of_thread = threadIdx.x * kStreamItems;
  uint64_t const first = tile * kStreamTile + first_of_thread;
  Neighbours<Place> const places = load_neighbours(args.places + first);
  Neighbours<Place> const lengths = load_neighbours(args.lengths + first);
  unsigned long long bytes = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) bytes += lengths.of[item];
  unsigned long long begin = 0;
  unsigned long long tile_bytes = 0;
  Scan(scan_storage).ExclusiveSum(bytes, begin, tile_bytes);

  uint64_t const tile_start = args.tile_starts[tile];
  uint64_t const unit_begin = part * kUnitBytes;
  uint64_t const bytes_left = tile_bytes - unit_begin;
  auto const unit_bytes = static_cast<uint32_t>(min(bytes_left, uint64_t{kUnitBytes}));
  Neighbours<Offset> offsets;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    offsets.of[item] = static_cast<Offset>(tile_start + begin);
    unit.place(first_of_thread + item, begin, args.origin + places.of[item], unit_begin,
               unit_bytes);
    begin += lengths.of[item];
  }
  if (part == 0) {
    if (first + kStreamItems <= args.count + 1) {
      *reinterpret_cast<Neighbours<Offset>*>(args.offsets + first) = offsets;
    } else {
#pragma unroll
      for (int item = 0; item < kStreamItems; ++item) {
        if (first + item <= args.count) args.offsets[first + item] = offsets.of[item];
      }
    }
  }
  if (threadIdx.x == 0) unit.starts[kStreamTile] = unit_bytes;
  block_sync();
  copy_unit(unit, unit_bytes, args.target + tile_start + unit_begin, args.readable);
}

// ---- values that all have as many bytes ----

struct FixedToGather {
  RowsToGather rows;
  const uint8_t* source;
  uint64_t width;
  uint32_t units_per_tile;
  Readable readable;
  uint8_t* target;
};

__global__ void __launch_bounds__(kStreamThreads)
    gather_fixed_kernel(const __grid_constant__ FixedToGather args) {
  __shared__ UnitValues unit;
  uint64_t const tile = uint64_t{blockIdx.x / args.units_per_tile} * kStreamTile;
  uint32_t const part = blockIdx.x % args.units_per_tile;
  uint64_t const tile_bytes = min(args.rows.count - tile, uint64_t{kStreamTile}) * args.width;
  uint64_t const unit_begin = uint64_t{part} * kUnitBytes;
  // The last tile may have fewer units.
  if (part != 0 && unit_begin >= tile_bytes) return;
  auto const unit_bytes = static_cast<uint32_t>(min(tile_bytes - unit_begin, uint64_t{kUnitBytes}));
  ThreadRows const found = load_rows(args.rows, tile);
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint32_t const value = item * kStreamThreads + threadIdx.x;
    uint64_t const source =
        found.valid[item] ? reinterpret_cast<uintptr_t>(args.source) + found.rows[item] * args.width
                          : 0;
    unit.place(value, value * args.width, source, unit_begin, unit_bytes);
  }
  if (part == 0) write_validity(args.rows, found, tile);
  if (threadIdx.x == 0) unit.starts[kStreamTile] = unit_bytes;
  block_sync();
  copy_unit(unit, unit_bytes, args.target + tile * args.width + unit_begin, args.readable);
}

}  // namespace gpujoin::kernels
