// sample_rule.hpp: which rows a key sample reads, and how its table hashes. Plain C++ that device
// code may include too, so that both executors sample the same rows and find the same keys.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUJOIN_PLAN_RULE __host__ __device__ constexpr
#else
#define GPUJOIN_PLAN_RULE constexpr
#endif

namespace gpujoin::plan {

// Positions read on each side. A power of two, so that strata are cut by shifts: blocks of the
// device read them all. Where the build side is scanned whole, the standard deviation of a match
// ratio of 50 % is 0.8 percentage points; where a part is scanned it is the part that limits it.
inline constexpr int32_t kSamplePositions = 4096;

// The scan of the build side takes all of a side of up to 2^23 rows, of a larger one an eighth, but
// between 2^23 and 2^24 rows. An eighth of 2^27 unique rows leaves 512 of 4096 matching draws, a
// standard error of 4.4 %.
//
// It is read in slices of neighbouring rows, one from each of equal strata: long enough to be read
// in whole lines, short enough that what lies together in the relation, the hot keys of a dimension
// at its front, is not scanned all or not at all. A tile is so many slices from all over the
// relation.
inline constexpr int64_t kSampleSliceRows = 64;
inline constexpr int64_t kSampleTileSlices = 64;
inline constexpr int64_t kSampleTileRows = kSampleTileSlices * kSampleSliceRows;
inline constexpr int64_t kFewestSampleTiles = 2048;
// A core looks at 2^18 rows in a millisecond, in which a device looks at all: on the CPU an eighth
// is enough from 2^20 rows on.
inline constexpr int64_t kFewestSampleTilesOfCpu = 32;
inline constexpr int64_t kMostSampleTiles = 4096;
inline constexpr int64_t kTilesOfSampleTile = 8;

// Draws of one key from which its frequency is not chance: among 4096 draws of 2^20 equally
// frequent keys some pair nearly always meets, of 2^16 some three do, four hardly ever.
inline constexpr int32_t kHeavyDraws = 4;

// Hot are build keys of which all rows of both sides are counted, if there are such keys: those
// that were not drawn so often by chance, and that have so many rows that each draw of the probe
// side more or less would be as many output rows as the probe side has rows. A key in a tenth of
// the build rows and 100 of 10^7 probe rows makes more output than all others, and the draws do not
// see it.
inline constexpr int32_t kMostHotKeys = kSamplePositions / kHeavyDraws;
inline constexpr int32_t kHotSlots = 2 * kMostHotKeys;

// The host's table of distinct sampled probe keys: open addressing, linear probing, load at most
// one half. The device's has parts (kernels/sample/sample_buffers.cuh).
inline constexpr int32_t kSampleSlots = 2 * kSamplePositions;

// A filter before the table: two bits of one word for each key, 32 KB. One in 300 rows that match
// nothing passes it; with one bit a key four times as many would.
inline constexpr int32_t kSampleFilterWords = 1 << 13;

// The finalizer of MurmurHash3: a bijection of 64-bit words in which every input bit reaches every
// output bit, so that dense and strided keys spread as evenly as random ones.
GPUJOIN_PLAN_RULE uint64_t mix64(uint64_t word) {
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccdULL;
  word ^= word >> 33;
  word *= 0xc4ceb9fe1a85ec53ULL;
  word ^= word >> 33;
  return word;
}

// `count` things cut into `strata` equal strata. Borders are multiples of a width in units of 2^-31
// things, rounded up by less than would move the last one: the device draws from 2^18 strata, and a
// division of 64 bits each would take it as long as to look at 20 rows.
// expected: strata <= count < 2^32, strata < 2^31.
struct SampleStrata {
  uint64_t width;

  GPUJOIN_PLAN_RULE SampleStrata(uint64_t strata, uint64_t count)
      : width(((count << 31) + strata - 1) / strata) {}
  // One of stratum number i, by a hash of i: evenly spread (sorted and clustered input is
  // represented), never in step with a period of the data, nothing twice, and the same on every
  // run.
  GPUJOIN_PLAN_RULE int64_t one_of(uint64_t i, uint64_t seed) const {
    const uint64_t first = i * width >> 31;
    const uint64_t things = ((i + 1) * width >> 31) - first;
    return static_cast<int64_t>(first + ((mix64(seed + i) >> 32) * things >> 32));
  }
};

// How many positions a side of so many rows contributes.
GPUJOIN_PLAN_RULE int32_t sample_positions(int64_t rows) {
  return rows < kSamplePositions ? static_cast<int32_t>(rows) : kSamplePositions;
}

// Draws from which on a key of a build side of so many rows is hot. More than there are: none is.
GPUJOIN_PLAN_RULE int64_t hot_draws(int64_t build_rows) {
  constexpr int64_t kPositions = kSamplePositions;
  if (build_rows < kPositions) return kPositions + 1;
  const int64_t draws = (kPositions * kPositions + build_rows - 1) / build_rows;
  return draws > kHeavyDraws ? draws : kHeavyDraws;
}
// Whether there may be rows to count. Of a side that is drawn whole the draws say all.
GPUJOIN_PLAN_RULE bool may_count_hot_keys(int64_t build_rows, int64_t probe_rows) {
  return build_rows >= kSamplePositions && probe_rows > kSamplePositions;
}

// The row of position number i, 0 <= i < sample_positions(rows). A side of at most kSamplePositions
// rows gives all of them.
GPUJOIN_PLAN_RULE int64_t sample_row(int32_t i, int64_t rows) {
  if (rows <= kSamplePositions) return i;
  return SampleStrata(kSamplePositions, static_cast<uint64_t>(rows))
      .one_of(static_cast<uint64_t>(i), 0);
}

// Whether rows that lie near each other have keys that do: the key of a drawn row is compared with
// those of the next row and of the row so many further on, or back where the side ends. -1: the
// side has no such row.
inline constexpr int64_t kNextRow = 1;
inline constexpr int64_t kNeighbourRows = int64_t{1} << 16;
GPUJOIN_PLAN_RULE int64_t neighbour_row(int64_t row, int64_t rows, int64_t apart) {
  if (row + apart < rows) return row + apart;
  return row >= apart ? row - apart : -1;
}
// Of the distance between two keys, in the order of signed integers.
inline constexpr int32_t kDistances = 65;
GPUJOIN_PLAN_RULE int32_t distance_bits(int64_t one, int64_t other) {
  const uint64_t up = static_cast<uint64_t>(other) - static_cast<uint64_t>(one);
  uint64_t distance = one < other ? up : uint64_t{0} - up;
  int32_t bits = 0;
  for (int32_t step = 32; step > 0; step /= 2) {
    if (distance >> step == 0) continue;
    distance >>= step;
    bits += step;
  }
  return bits + (distance != 0 ? 1 : 0);
}
// Bits that no more than a 16th of the distances need more than. counts: of the distances of so
// many bits. As many as there are where there is no distance.
GPUJOIN_PLAN_RULE int32_t usual_bits(const uint32_t (&counts)[kDistances]) {
  uint32_t all = 0;
  for (int32_t bits = 0; bits < kDistances; ++bits) all += counts[bits];
  uint32_t within = 0;
  for (int32_t bits = 0; bits < kDistances - 1; ++bits) {
    within += counts[bits];
    if (within > all - (all + 15) / 16) return bits;
  }
  return kDistances - 1;
}

// How many tiles of a build side of so many rows are scanned. fewest: where it has as many.
GPUJOIN_PLAN_RULE int64_t sample_tiles(int64_t rows, int64_t fewest = kFewestSampleTiles) {
  const int64_t tiles = (rows + kSampleTileRows - 1) / kSampleTileRows;
  const int64_t share = tiles / kTilesOfSampleTile;
  const int64_t most = share < kMostSampleTiles ? share : kMostSampleTiles;
  const int64_t wanted = most > fewest ? most : fewest;
  return tiles < wanted ? tiles : wanted;
}
GPUJOIN_PLAN_RULE bool scans_all_rows(int64_t rows, int64_t fewest = kFewestSampleTiles) {
  return sample_tiles(rows, fewest) * kSampleTileRows >= rows;
}

// Where the slices of a build side begin.
class SampleSlices {
 public:
  // expected: 0 < rows < 2^32
  explicit GPUJOIN_PLAN_RULE SampleSlices(int64_t rows, int64_t fewest = kFewestSampleTiles)
      : tiles_(sample_tiles(rows, fewest)),
        all_(scans_all_rows(rows, fewest)),
        strata_(static_cast<uint64_t>(tiles_ * kSampleTileSlices),
                static_cast<uint64_t>((rows + kSampleSliceRows - 1) / kSampleSliceRows)) {}

  GPUJOIN_PLAN_RULE int64_t tiles() const { return tiles_; }
  // The first row of a slice, 0 <= slice < kSampleTileSlices, of scanned tile number i, 0 <= i <
  // tiles(); of a side scanned whole it may lie beyond the rows. The seed is not that of
  // sample_row: with both sides in the order of the key the sampled probe rows would find their
  // matches in scanned slices every time, not as often as a slice is scanned.
  GPUJOIN_PLAN_RULE int64_t first_row(int64_t i, int64_t slice) const {
    if (all_) return i * kSampleTileRows + slice * kSampleSliceRows;
    constexpr uint64_t kSeed = uint64_t{1} << 32;
    return strata_.one_of(static_cast<uint64_t>(slice * tiles_ + i), kSeed) * kSampleSliceRows;
  }

 private:
  int64_t tiles_;
  bool all_;
  SampleStrata strata_;
};

// How many rows the tiles have. The last slice of a side may be a short one.
GPUJOIN_PLAN_RULE int64_t scanned_rows(int64_t rows, int64_t fewest = kFewestSampleTiles) {
  if (scans_all_rows(rows, fewest)) return rows;
  const int64_t tiles = sample_tiles(rows, fewest);
  const int64_t last = SampleSlices(rows, fewest).first_row(tiles - 1, kSampleTileSlices - 1);
  const int64_t missing = last + kSampleSliceRows - rows;
  return tiles * kSampleTileRows - (missing > 0 ? missing : 0);
}

// Output rows of a hot key, or as many as a sum of them over 1024 keys still holds.
GPUJOIN_PLAN_RULE int64_t hot_pairs(int64_t build_rows, int64_t probe_rows) {
  constexpr int64_t kMost = INT64_MAX >> 11;
  return probe_rows != 0 && build_rows > kMost / probe_rows ? kMost : build_rows * probe_rows;
}

// By which tables place a key.
GPUJOIN_PLAN_RULE uint32_t sample_hash(uint64_t key) { return static_cast<uint32_t>(mix64(key)); }

// The key's place in the filter: the word from the upper 13 bits, two bits of it from those below.
// Every build row pays for this one, so it is a multiplication of 32 bits, not mix64: a filter that
// passes more rows costs time, never a wrong count.
struct SampleFilterBits {
  uint32_t word;
  uint32_t first;  // modulo 32, which a shift of the device is without being asked
  uint32_t second;

  GPUJOIN_PLAN_RULE uint32_t mask() const { return 1U << (first & 31) | 1U << (second & 31); }
  GPUJOIN_PLAN_RULE bool held_by(uint32_t filter_word) const {
    return (filter_word >> (first & 31) & filter_word >> (second & 31) & 1) != 0;
  }
};
GPUJOIN_PLAN_RULE SampleFilterBits sample_filter_bits(uint64_t key) {
  const uint32_t folded =
      static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) * 0x85ebca6bU;
  const uint32_t mixed = folded * 0x9e3779b1U;
  return {mixed >> 19, mixed >> 14, mixed >> 9};
}

}  // namespace gpujoin::plan

#undef GPUJOIN_PLAN_RULE
