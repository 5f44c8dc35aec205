// workload.hpp: which key and which payload each row has, as pure functions of the row's number
//
// A key is numbered first (its index, 0 .. distinct - 1 for keys that S may have, more for keys of
// R replaced so that they match nothing) and then spread over its width.
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/cells.hpp"
#include "bench/numbers.hpp"

namespace gpujoin::bench {

// A key that no row can have.
inline constexpr uint64_t kNoIndex = ~uint64_t{0};

struct Workload {
  enum class Build { kPermuted, kDrawn, kHot };

  Build build = Build::kPermuted;
  bool is_zipf = false;
  bool is_build_zipf = false;
  bool is_sparse = false;
  uint64_t distinct;  // keys that S draws from
  uint64_t matching;  // of them, how many R has
  uint64_t multiplicity;
  uint64_t hot_build_rows;
  uint64_t hot_probe_rows;
  uint64_t stride;
  uint64_t order;  // 0: none
  uint64_t gap;    // of sparse keys in order, of which one is anywhere in each; else 1
  double nulls;
  uint64_t build_rows, probe_rows;
  Permutation block_order;  // within a block of rows that lie in order
  Permutation build_order;  // of R's rows
  Permutation probe_order;  // of S's rows
  Permutation rank_order;   // of keys: R's own order when its keys are unique
  Permutation replaced;     // of keys: those from `matching` on are replaced
  Scramble spread;
  Zipf zipf;

  explicit Workload(const Cell& cell)
      : is_zipf(cell.zipf > 0),
        is_build_zipf(cell.is_build_zipf),
        is_sparse(cell.is_sparse),
        distinct(static_cast<uint64_t>(cell.distinct_keys())),
        matching(static_cast<uint64_t>(std::llround(cell.match * static_cast<double>(distinct)))),
        multiplicity(static_cast<uint64_t>(cell.multiplicity)),
        hot_build_rows(static_cast<uint64_t>(cell.hot_build_rows)),
        hot_probe_rows(static_cast<uint64_t>(cell.hot_probe_rows)),
        stride(static_cast<uint64_t>(cell.stride)),
        order(static_cast<uint64_t>(cell.order)),
        gap(cell.is_sparse && cell.order != 0
                ? (uint64_t{1} << (cell.key_bytes == 4 ? 31 : 62)) / (2 * distinct)
                : 1),
        nulls(cell.nulls),
        build_rows(static_cast<uint64_t>(cell.build_rows)),
        probe_rows(static_cast<uint64_t>(cell.probe_rows)),
        block_order(order == 0 ? 1 : order, kBlockSeed),
        build_order(static_cast<uint64_t>(cell.build_rows), kBuildSeed),
        probe_order(static_cast<uint64_t>(cell.probe_rows), kProbeSeed),
        rank_order(distinct, kBuildSeed),
        replaced(distinct, kReplacedSeed),
        spread(cell.key_bytes == 4 ? 31 : 62, kSpreadSeed),
        zipf(distinct, is_zipf ? cell.zipf : 1) {
    if (cell.distinct > 0) build = Build::kDrawn;
    if (cell.hot_build_rows > 0) build = Build::kHot;
  }

  GPUJOIN_BENCH_BOTH uint64_t build_index(uint64_t row) const {
    uint64_t index;
    if (build == Build::kDrawn) {
      index = is_build_zipf ? rank_order.at(zipf.rank(kBuildSeed, row) - 1)
                            : scale_to(mix(row ^ kBuildSeed), distinct);
    } else {
      const uint64_t position =
          order == 0 ? build_order.at(row) : position_in_order(row, build_rows);
      if (build == Build::kHot) {
        index = position < hot_build_rows ? 0 : position - hot_build_rows + 1;
      } else {
        index = position / multiplicity;
      }
    }
    const bool is_replaced = matching < distinct && replaced.at(index) >= matching;
    return is_replaced ? index + distinct : index;
  }

  // seed: of the row's side.
  GPUJOIN_BENCH_BOTH bool is_null(uint64_t row, uint64_t seed) const {
    return nulls > 0 && to_unit(mix(row + mix(seed))) < nulls;
  }

  // Of rows in blocks; those of the last one that is not whole stay.
  GPUJOIN_BENCH_BOTH uint64_t position_in_order(uint64_t row, uint64_t rows) const {
    const uint64_t first = row - row % order;
    return rows - first < order ? row : first + block_order.at(row - first);
  }

  GPUJOIN_BENCH_BOTH uint64_t probe_index(uint64_t row) const {
    // Both are below 2^32.
    if (order != 0) return position_in_order(row, probe_rows) * distinct / probe_rows;
    if (is_zipf) return rank_order.at(zipf.rank(kProbeSeed, row) - 1);
    if (build != Build::kHot) return scale_to(mix(row ^ kProbeSeed), distinct);
    if (probe_order.at(row) < hot_probe_rows || distinct == 1) return 0;
    return 1 + scale_to(mix(row ^ kProbeSeed), distinct - 1);
  }

  GPUJOIN_BENCH_BOTH uint64_t key_of(uint64_t index) const {
    if (gap > 1) return index * gap + mix(index ^ kSpreadSeed) % gap;
    return is_sparse ? spread.forward(index) : index * stride;
  }

  // The index of a key that was read: kNoIndex or one beyond `distinct` for keys never made.
  GPUJOIN_BENCH_BOTH uint64_t index_of(uint64_t key) const {
    if (gap > 1) return key_of(key / gap) == key ? key / gap : kNoIndex;
    if (is_sparse) return key >> spread.bits != 0 ? kNoIndex : spread.backward(key);
    return key % stride != 0 ? kNoIndex : key / stride;
  }

  static constexpr uint64_t kBuildSeed = 0x517cc1b727220a95;
  static constexpr uint64_t kProbeSeed = 0x2f0b4447a1c3985d;
  static constexpr uint64_t kReplacedSeed = 0x6a09e667f3bcc908;
  static constexpr uint64_t kBlockSeed = 0xa54ff53a5f1d36f1;
  static constexpr uint64_t kSpreadSeed = 0x3c6ef372fe94f82b;
};

// Key column number `which` + 2, of both sides: as Lin & Liao 2025, listing 7, make theirs.
GPUJOIN_BENCH_BOTH inline uint64_t more_key(uint64_t key, int which) {
  constexpr uint64_t kModuli[kMaxKeys - 1] = {1000, 100, 10, 5};
  return key % kModuli[which];
}

// R's payload number `column`: a function of the key, but for its lowest byte, which is the row's
// own, so that rows with equal keys can be told apart.
GPUJOIN_BENCH_BOTH inline uint64_t build_payload(uint64_t key, int column, uint64_t low_byte) {
  return mix(key + (static_cast<uint64_t>(column + 1) << 56)) << 8 | (low_byte & 0xff);
}
GPUJOIN_BENCH_BOTH inline uint64_t build_low_byte(uint64_t row, int column) {
  return mix(row ^ 0x1b873593cc9e2d51) >> (8 * column) & 0xff;
}

// S's payload number `column`: a function of the row.
GPUJOIN_BENCH_BOTH inline uint64_t probe_payload(uint64_t row, int column) {
  return mix(row + (static_cast<uint64_t>(column + 1) << 40));
}

}  // namespace gpujoin::bench
