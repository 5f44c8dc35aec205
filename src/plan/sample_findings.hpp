// sample_findings.hpp: what a key sample found, as sums. The device writes it to the host as it is,
// which never sees the keys themselves.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpujoin::plan {

// Which bits and which values the keys of some rows have. Bits are zero-extended to 64.
struct KeyBounds {
  uint64_t key_or = 0;
  uint64_t key_and = ~uint64_t{0};
  // In the order of signed integers of the key's width, since keys come without a type: unsigned
  // keys on both sides of the sign bit look like a wide range. low > high: no valid key.
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;

  static int64_t value_of(uint64_t key, int32_t key_width) {
    return key_width == 4 ? static_cast<int32_t>(static_cast<uint32_t>(key))
                          : static_cast<int64_t>(key);
  }
  void add(uint64_t key, int32_t key_width) {
    key_or |= key;
    key_and &= key;
    const int64_t value = value_of(key, key_width);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool holds(uint64_t key, int32_t key_width) const {
    const int64_t value = value_of(key, key_width);
    return low <= value && value <= high;
  }
  void add(const KeyBounds& other) {
    key_or |= other.key_or;
    key_and &= other.key_and;
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  bool operator==(const KeyBounds&) const = default;
};

// The keys of one side at its sample positions.
struct DrawnKeys {
  int64_t positions = 0;  // rows read, NULL keys included
  int64_t valid = 0;      // of those, rows with a key
  int64_t distinct = 0;   // keys
  int64_t most = 0;       // draws of the key drawn most often
  int64_t heavy = 0;      // draws of keys that were drawn at least kHeavyDraws times
  // usual_bits of the distances to the keys of rows that are kNextRow and kNeighbourRows apart.
  int64_t next_bits = 64;
  int64_t neighbour_bits = 64;
  int64_t descents = 0;  // rows whose next one has a lower key
  KeyBounds bounds;
  bool operator==(const DrawnKeys&) const = default;
};

// Sampled probe keys that the scan met, and the build rows in which it met them.
struct MetKeys {
  int64_t keys = 0;           // distinct
  int64_t draws = 0;          // sampled probe rows with one of them
  int64_t rows = 0;           // build rows, summed over keys
  int64_t drawn_rows = 0;     // likewise, over draws
  int64_t squares = 0;        // of a key's build rows, summed over keys
  int64_t drawn_squares = 0;  // likewise, over draws
  int64_t most = 0;           // build rows of one key
  bool operator==(const MetKeys&) const = default;
};

// Hot keys of the build side (sample_rule.hpp) and all rows that have them.
struct HotKeys {
  int64_t keys = 0;         // 0: there are none, or their rows were not counted
  int64_t probe_draws = 0;  // sampled probe rows with one of them
  int64_t probe_keys = 0;   // those among them that such rows have
  int64_t rows = 0;         // probe rows with one of them
  int64_t most = 0;         // likewise of one
  int64_t pairs = 0;        // of build rows and probe rows
  int64_t most_build = 0;   // build rows of one key
  bool operator==(const HotKeys&) const = default;
};

struct SampleFindings {
  DrawnKeys build;
  DrawnKeys probe;
  HotKeys hot;
  bool counted = false;      // the build side was scanned: the members below say something
  int64_t scanned_rows = 0;  // NULL keys included
  KeyBounds scanned;         // of the rows scanned
  int64_t scanned_within =
      0;  // of them, with a key between the lowest and the highest probe key drawn
  // From here on without the hot keys.
  int64_t met_in_one_tile = 0;   // sampled probe keys, distinct
  int64_t met_in_two_tiles = 0;  // likewise
  MetKeys met_seldom;            // in one tile or in two
  MetKeys met_often;             // in more
  bool operator==(const SampleFindings&) const = default;
};

}  // namespace gpujoin::plan
