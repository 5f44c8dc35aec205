// lane_rows.cuh: a warp's output rows, column by column
//
// Source   ours
// In       for kItems rows of each lane: the key, the rows of both sides, and the place
// Out      target[] of each column
// Moves    the columns' widths a row, read and written; of build columns without a stage rows lie
//          within a chunk
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/here.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"
#include "kernels/whole_value.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kNoSlot = 0xffffffffU;
constexpr uint32_t kNoRowOfSide = 0xffffffffU;  // GPUJOIN_NO_ROW, where Join::kMissesRows

// Probe rows of a lane, anywhere.
template <int kRows>
struct ProbeRows {
  static constexpr bool kStagesProbe = false;
  uint32_t probe[kRows];

  // Where a probe column has an item's value, from what first_probe() says of the column.
  template <typename Value>
  __device__ __forceinline__ const Value* first_probe(const Value* source) const {
    return source;
  }
  template <typename Value>
  __device__ __forceinline__ const Value* of_probe(const Value* first, int item) const {
    return first + here(probe[item]);
  }
  __device__ uint32_t probe_row(int item) const { return probe[item]; }
};

template <typename KeyType, int kRows>
struct LaneRows : ProbeRows<kRows> {
  using Key = KeyType;
  static constexpr int kItems = kRows;
  static constexpr bool kMixesKeys = true;  // where the join does
  static constexpr bool kIsRun = false;
  Key keys[kItems];
  uint32_t build[kItems];  // row of the build side, counted from build_first
  uint32_t slots[kItems];  // kNoSlot: there is no row
  // Slots that are written now, the first of them to place `base`.
  uint32_t first_slot;
  uint32_t slot_count;
  uint32_t build_first;  // of a join with stages, the row at the beginning of each; else unused
  unsigned long long base;

  __device__ bool is_written(int item) const { return slots[item] - first_slot < slot_count; }
  template <typename Value>
  __device__ __forceinline__ Value* first_place(Value* target) const {
    return here(target + base);
  }
  template <typename Value>
  __device__ __forceinline__ Value* place(Value* first, int item) const {
    return first + here(slots[item] - first_slot);
  }
};

// The same of rows of a lane whose places lie side by side, the first at a multiple of kItems.
template <typename KeyType, int kRows>
struct CarriedRun : ProbeRows<kRows> {
  using Key = KeyType;
  static constexpr int kItems = kRows;
  static constexpr bool kMixesKeys = false;
  static constexpr bool kIsRun = true;
  Key keys[kItems];  // as the output has them
  uint32_t build[kItems];
  uint32_t slot;  // of the first
  uint32_t first_slot;
  uint32_t slot_count;
  uint32_t build_first;
  unsigned long long base;

  __device__ bool is_written(int item) const { return slot + item - first_slot < slot_count; }
  __device__ bool is_whole() const { return is_written(0) && is_written(kItems - 1); }
  template <typename Value>
  __device__ __forceinline__ Value* first_place(Value* target) const {
    return target + base + here(slot) - first_slot;
  }
  template <typename Value>
  __device__ __forceinline__ Value* place(Value* first, int item) const {
    return first + item;
  }
};

// A value that all rows of a lane have.
template <typename Value>
struct SameValue {
  Value value;
  __device__ __forceinline__ Value operator[](int) const { return value; }
};
// Matches of one key whose places lie side by side. kOfBuild: of one probe row with several build
// rows; else of one build row with several probe rows. Rows of both sides are counted from where
// their stages begin.
template <typename KeyType, int kRows, bool kOfBuild>
struct CrossedRun {
  using Key = KeyType;
  using Several = uint32_t[kRows];
  static constexpr int kItems = kRows;
  static constexpr bool kMixesKeys = false;
  static constexpr bool kIsRun = kRows > 1;
  static constexpr bool kStagesProbe = true;
  SameValue<Key> keys;  // as the output has it
  std::conditional_t<kOfBuild, Several, SameValue<uint32_t>> build;
  std::conditional_t<kOfBuild, SameValue<uint32_t>, Several> probe;
  uint32_t build_first;
  uint32_t probe_first;
  unsigned long long base;  // place of the first, a multiple of kRows

  __device__ static constexpr bool is_written(int) { return true; }
  __device__ static bool is_whole() { return true; }
  __device__ uint32_t probe_row(int item) const { return probe_first + probe[item]; }
  template <typename Value>
  __device__ __forceinline__ Value* first_place(Value* target) const {
    return target + base;
  }
  template <typename Value>
  __device__ __forceinline__ Value* place(Value* first, int item) const {
    return first + item;
  }
};

// Rows of a batch of neighbouring probe rows, all of which are written, side by side: nothing is
// asked of a row, and its addresses differ from those of the first by constants.
template <typename LaneRowsType>
struct FullRows {
  using Key = typename LaneRowsType::Key;
  static constexpr int kItems = LaneRowsType::kItems;
  static constexpr bool kMixesKeys = LaneRowsType::kMixesKeys;
  static constexpr bool kIsRun = false;
  static constexpr bool kStagesProbe = false;
  const Key (&keys)[kItems];
  const uint32_t (&build)[kItems];
  uint32_t probe;  // of the lane's first
  uint32_t build_first;
  unsigned long long base;

  __device__ explicit FullRows(const LaneRowsType& rows)
      : keys(rows.keys),
        build(rows.build),
        probe(rows.probe[0]),
        build_first(rows.build_first),
        base(rows.base) {}
  __device__ static constexpr bool is_written(int) { return true; }
  template <typename Value>
  __device__ __forceinline__ Value* first_place(Value* target) const {
    return here(target + base) + threadIdx.x % 32;
  }
  template <typename Value>
  __device__ __forceinline__ Value* place(Value* first, int item) const {
    return first + 32 * item;
  }
  template <typename Value>
  __device__ __forceinline__ const Value* first_probe(const Value* source) const {
    return source + here(probe);
  }
  template <typename Value>
  __device__ __forceinline__ const Value* of_probe(const Value* first, int item) const {
    return first + 32 * item;
  }
  __device__ uint32_t probe_row(int item) const { return probe + 32 * item; }
};

// Writes the values of a run as vectors. target: of the first, a multiple of as many bytes as a
// vector has.
template <typename Value, int kItems>
__device__ __forceinline__ void write_run(Value* target, const Value (&values)[kItems]) {
  constexpr int kBytes = sizeof(Value) * kItems;
  using Vector = std::conditional_t<
      kBytes % 16 == 0, uint4,
      std::conditional_t<kBytes == 8, uint2, std::conditional_t<kBytes == 4, uint32_t, uint16_t>>>;
  Vector vectors[kBytes / sizeof(Vector)];
  static_assert(sizeof(vectors) == kBytes);
  memcpy(vectors, values, kBytes);
#pragma unroll
  for (int i = 0; i < static_cast<int>(kBytes / sizeof(Vector)); ++i) {
    __stwb(reinterpret_cast<Vector*>(target) + i, vectors[i]);  // a plain store is taken apart
  }
}

// A value that is read once: it shall not push a table out of L2.
template <bool kPassesBy, typename Value>
__device__ __forceinline__ Value read_value(const Value* source) {
  if constexpr (kPassesBy && kIsWhole<Value>) {
    return __ldcs(source);
  } else {
    return *source;
  }
}
template <bool kPassesBy, typename Value>
__device__ __forceinline__ void write_value(Value* target, Value value) {
  if constexpr (kPassesBy && kIsWhole<Value>) {
    __stcs(target, value);
  } else {
    *target = value;
  }
}

// value_of(item) of rows that are written. kAtOnce: so many are loaded before the first is written.
template <bool kPassesBy, int kAtOnce, typename Value, typename Rows, typename ValueOf>
__device__ __forceinline__ void write_values(Value* target, const Rows& rows, ValueOf value_of) {
  Value* const first_place = rows.first_place(target);
#pragma unroll
  for (int first = 0; first < Rows::kItems; first += kAtOnce) {
    Value values[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (rows.is_written(first + i)) values[i] = value_of(first + i);
    }
    if constexpr (Rows::kIsRun && kAtOnce == Rows::kItems && kIsWhole<Value>) {
      if (rows.is_whole()) {
        write_run(first_place, values);
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      int const item = first + i;
      if (!rows.is_written(item)) continue;
      write_value<kPassesBy>(rows.place(first_place, item), values[i]);
    }
  }
}

template <typename Join, typename Value, typename Rows>
__device__ __forceinline__ void write_carried(const CarriedColumn& column, const Rows& rows) {
  constexpr bool kPassesBy = Join::kKeepsTable;
  constexpr int kAtOnce = kIsWhole<Value> ? Rows::kItems : 1;
  auto const* const source = static_cast<const Value*>(column.source);
  auto* const target = static_cast<Value*>(column.target);
  if constexpr (Join::kMissesRows) {
    bool const of_build = column.from == CarriedFrom::kBuild;
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    auto const* const stage = reinterpret_cast<const Value*>(dynamic_shared + column.stage);
    write_values<kPassesBy, kAtOnce>(target, rows, [&](int item) {
      uint32_t const row = of_build ? rows.build[item] : rows.probe_row(item);
      if (row == kNoRowOfSide) return static_cast<Value>(kNoRowOfSide);
      if (!of_build) return source[here(row)];
      return column.stage != 0 ? stage[row] : source[here(rows.build_first + row)];
    });
    return;
  }
  if (column.from != CarriedFrom::kBuild) {
    if constexpr (Rows::kStagesProbe) {
      extern __shared__ __align__(16) unsigned char dynamic_shared[];
      auto const* const stage = reinterpret_cast<const Value*>(dynamic_shared + column.stage);
      write_values<kPassesBy, kAtOnce>(target, rows, [&](int item) {
        return column.stage != 0 ? stage[rows.probe[item]]
                                 : source[here(rows.probe_first + rows.probe[item])];
      });
    } else {
      auto const* const first = rows.first_probe(source);
      write_values<kPassesBy, kAtOnce>(target, rows, [&](int item) {
        return read_value<kPassesBy>(rows.of_probe(first, item));
      });
    }
    return;
  }
  uint32_t build_first = 0;
  if constexpr (Join::kStages) {
    if (column.stage != 0) {
      extern __shared__ __align__(16) unsigned char dynamic_shared[];
      auto const* const stage = reinterpret_cast<const Value*>(dynamic_shared + column.stage);
      write_values<kPassesBy, kAtOnce>(target, rows,
                                       [&](int item) { return stage[rows.build[item]]; });
      return;
    }
    build_first = rows.build_first;
  }
  write_values<kPassesBy, kAtOnce>(
      target, rows, [&](int item) { return source[here(build_first + rows.build[item])]; });
}

template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_carried_column(const Join&, const CarriedColumn& column,
                                                     const Rows& rows) {
  constexpr bool kPassesBy = Join::kKeepsTable;
  if (column.from == CarriedFrom::kKey) {
    using Key = typename Rows::Key;
    auto const key_of = [&](int item) {
      return Join::kMixesKeys && Rows::kMixesKeys ? unmix_key(rows.keys[item]) : rows.keys[item];
    };
    // Codes of 4 bytes that stand for keys of 8: see CarriedColumn::source. Columns of 4 bytes
    // alone have no such branch, which costs many matches a key 5 %.
    if constexpr (Join::kWidensKeys && kWidth != 4 && sizeof(Key) == sizeof(uint32_t)) {
      if (column.width == sizeof(uint64_t)) {
        auto const low = reinterpret_cast<unsigned long long>(column.source);
        write_values<kPassesBy, Rows::kItems>(static_cast<uint64_t*>(column.target), rows,
                                              [&](int item) { return low + key_of(item); });
        return;
      }
    }
    write_values<kPassesBy, Rows::kItems>(static_cast<Key*>(column.target), rows, key_of);
    return;
  }
  if (Join::kNumbersRows && column.source == nullptr) {
    bool const of_build = column.from == CarriedFrom::kBuild;
    write_values<kPassesBy, 1>(static_cast<uint32_t*>(column.target), rows, [&](int item) {
      return of_build ? rows.build[item] : rows.probe_row(item);
    });
    return;
  }
  // The switch over widths is for what is not of one: its branches cost registers in a loop that
  // has few.
  auto const write = [&](auto zero) { write_carried<Join, decltype(zero)>(column, rows); };
  // Lookups wait for the table, and have no registers for values of 16 bytes.
  if constexpr (Join::kKeepsTable) {
    with_width<kWidth>(column.width, write);
  } else {
    with_whole_value<kWidth>(column.width, column.source, column.target, write);
  }
}

// kWidth: of every column but the keys, 4 or 8; 0: of any.
template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_carried_rows(const Join& join, const Rows& rows) {
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    write_carried_column<kWidth>(join, join.columns[i], rows);
  }
}

}  // namespace gpujoin::kernels
