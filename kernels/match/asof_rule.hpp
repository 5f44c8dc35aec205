// asof_rule.hpp: which of the right rows next to a left row is its match, as host and device both
// see it
//
// Source   ours; ties and directions as pandas' merge_asof and DuckDB's ASOF JOIN have them
// In       keys of a left row and of the right rows next to where it belongs among the sorted ones
// Out      the one before, the one after, or none
#pragma once

#include <cstdint>

#include "kernels/keys/ordered_key.hpp"

#ifdef __CUDACC__
#define GPUJOIN_ASOF __host__ __device__ inline
#else
#define GPUJOIN_ASOF inline
#endif

namespace gpujoin::kernels {

// Numbers as GPUJOIN_DIRECTION_* has them.
enum class AsofDirection : int32_t { kBackward = 1, kForward = 2, kNearest = 3 };
// What is between two codes.
enum class AsofDistance : int32_t { kUnits, kFloats, kRanks };

// A group of equal keys, and a place in it, where 8 bytes do not hold both.
struct WideKey {
  uint64_t group;
  uint64_t place;

  GPUJOIN_ASOF bool operator<(const WideKey& other) const {
    return group < other.group || (group == other.group && place < other.place);
  }
  GPUJOIN_ASOF bool operator<=(const WideKey& other) const { return !(other < *this); }
  GPUJOIN_ASOF bool operator==(const WideKey& other) const {
    return group == other.group && place == other.place;
  }
};

struct AsofRule {
  AsofDirection direction = AsofDirection::kBackward;
  bool is_strict = false;
  bool has_tolerance = false;
  AsofDistance distance = AsofDistance::kUnits;
  int32_t place_bits = 64;             // of a key of 8 bytes, the lower ones; the group is above
  uint64_t least = 0;                  // the code of place 0
  uint64_t greatest = ~uint64_t{0};    // codes above it are of NaN, which matches nothing
  uint64_t tolerance = 0;              // kUnits, kRanks
  double tolerance_float = 0;          // kFloats
  const LongNumber* values = nullptr;  // kRanks: by their code
};

// Plain signed values are their own group and place.
GPUJOIN_ASOF uint64_t group_of(const AsofRule&, int64_t) { return 0; }
GPUJOIN_ASOF uint64_t code_of(const AsofRule&, int64_t key) {
  return static_cast<uint64_t>(key) ^ kSignBit;
}
GPUJOIN_ASOF uint64_t group_of(const AsofRule& rule, uint64_t key) {
  return rule.place_bits == 64 ? 0 : key >> rule.place_bits;
}
GPUJOIN_ASOF uint64_t code_of(const AsofRule& rule, uint64_t key) {
  uint64_t const places =
      rule.place_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << rule.place_bits) - 1;
  return rule.least + (key & places);
}
GPUJOIN_ASOF uint64_t group_of(const AsofRule&, const WideKey& key) { return key.group; }
GPUJOIN_ASOF uint64_t code_of(const AsofRule&, const WideKey& key) { return key.place; }

GPUJOIN_ASOF double float_between(uint64_t low, uint64_t high) {
  // Also of two infinities.
  return low == high ? 0 : float_of_code(high) - float_of_code(low);
}
GPUJOIN_ASOF LongNumber number_between(const AsofRule& rule, uint64_t low, uint64_t high) {
  return minus(rule.values[high], rule.values[low]);
}

// low <= high. kRanked: codes may be ranks; numbers of 512 bits take the registers that others keep
// their blocks resident by.
template <bool kRanked>
GPUJOIN_ASOF bool is_within(const AsofRule& rule, uint64_t low, uint64_t high) {
  if (!rule.has_tolerance) return true;
  if (rule.distance == AsofDistance::kFloats) {
    return float_between(low, high) <= rule.tolerance_float;
  }
  if constexpr (kRanked) {
    if (rule.distance == AsofDistance::kRanks) {
      return !is_less({{rule.tolerance}}, number_between(rule, low, high));
    }
  }
  return high - low <= rule.tolerance;
}

// Whether `high` is nearer to `middle` than `low` is.
template <bool kRanked>
GPUJOIN_ASOF bool is_nearer(const AsofRule& rule, uint64_t low, uint64_t middle, uint64_t high) {
  if (rule.distance == AsofDistance::kFloats) {
    return float_between(middle, high) < float_between(low, middle);
  }
  if constexpr (kRanked) {
    if (rule.distance == AsofDistance::kRanks) {
      return is_less(number_between(rule, middle, high), number_between(rule, low, middle));
    }
  }
  return high - middle < middle - low;
}

// Whether the distance of two values decides.
GPUJOIN_ASOF bool asks_for_distance(const AsofRule& rule) {
  return rule.has_tolerance || rule.direction == AsofDirection::kNearest;
}

// Whether the place of a left row among the right ones is behind those that are equal, or before.
GPUJOIN_ASOF bool belongs_behind_equals(const AsofRule& rule) {
  return rule.direction == AsofDirection::kForward ? rule.is_strict : !rule.is_strict;
}

enum class AsofMatch : int32_t { kNone, kBefore, kAfter };

// before, after: the keys next to the left row's place, null where there is none, or where the
// direction does not ask for it. expected: distances of ranks asked for by wide keys only.
template <typename Key>
GPUJOIN_ASOF AsofMatch choose_match(const AsofRule& rule, const Key& left, const Key* before,
                                    const Key* after) {
  constexpr bool kRanked = sizeof(Key) == sizeof(WideKey);
  uint64_t const group = group_of(rule, left);
  uint64_t const code = code_of(rule, left);
  if (code > rule.greatest) return AsofMatch::kNone;
  uint64_t low = 0;
  uint64_t high = 0;
  bool has_low = before != nullptr && group_of(rule, *before) == group;
  bool has_high = after != nullptr && group_of(rule, *after) == group;
  if (has_low) {
    low = code_of(rule, *before);
    has_low = is_within<kRanked>(rule, low, code);
  }
  if (has_high) {
    high = code_of(rule, *after);
    has_high = high <= rule.greatest && is_within<kRanked>(rule, code, high);
  }
  if (has_low && has_high) {
    return is_nearer<kRanked>(rule, low, code, high) ? AsofMatch::kAfter : AsofMatch::kBefore;
  }
  if (has_low) return AsofMatch::kBefore;
  return has_high ? AsofMatch::kAfter : AsofMatch::kNone;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_ASOF
