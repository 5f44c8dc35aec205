// dominance.hpp: pairs by two inequalities whose matches are not neighbours.
//
// Source   the problem of IEJoin (Khayyat et al. 2015, "Lightning Fast and Space Efficient
//          Inequality Joins"), which scans a bit array of the sorted side for each row: n * m / 64.
//          Here the levels of a wavelet tree (Grossi et al. 2003; as a merge sort tree is walked),
//          one after the other: (n + m) log m + pairs, whatever the data.
//
// A row of the sorted side has two places, p by the first code and q by the second; a row of the
// ranged side matches those of p < first and q < second. The p below `first` are one block of 2^b
// neighbours for each bit b of `first` that is 1. On level b rows lie in blocks of 2^b of p, in
// the order of q in each: what a row matches in its block begins where the block does, and how many
// they are the level before says, by a count of the bits that put rows into the left half or the
// right one. No level is kept: each is made of the one before, and read by all ranged rows before
// the next one is made. The last 6 levels are one: up to 63 rows in the order of p, each held
// against `second`.
//
// Where rows have few pairs, as some rows of both sides say, they are found by minima instead
// (src/cpu/lowest_places.hpp), which costs them no level that has none.
#pragma once

#include <cstdint>
#include <optional>

#include "src/cpu/range_join.hpp"
#include "src/cpu/ranged_rows.hpp"

namespace gpujoin::cpu {

class Dominance : public RangeJoin {
 public:
  // expected: two inequalities.
  Dominance(base::Queue& queue, Workers& workers, const columns::RangeProblem& problem);
  uint64_t expected_pairs() override;
  void find(PairTaker& taker) override;
  void mark_matched(columns::RowMarks& marks) override;

 private:
  // Of a ranged row: it matches p < first, q < second.
  struct Corner {
    uint32_t first;
    uint32_t second;
  };
  // Rows of a level, with the place of each by the first code.
  struct Level {
    base::Buffer places;  // [sorted_] uint32 p
    base::Buffer rows;    // [sorted_] uint32 row number
  };
  // A bit a row of a level: whether it goes to the right half of its block.
  struct Halves {
    base::Buffer words;        // uint64, one more than hold the rows
    base::Buffer ones_before;  // uint32, of each word
  };
  void rank(const columns::RangeProblem& problem);
  uint64_t sampled_pairs() const;
  void order_corners();
  Level make_level() const;
  void count_halves(const Level& level, uint32_t bit, Halves* halves);
  void split(const Level& level, const Halves& halves, uint32_t bit, Level* next);
  void find_by_lowest(PairBatches& batches);
  void find_by_levels(PairBatches& batches);
  void look_at_last_blocks(PairBatches& batches, const uint32_t* within);

  base::Queue& queue_;
  Workers& workers_;
  uint64_t sorted_ = 0;  // rows of the sorted side
  RowList ranged_;
  std::optional<uint64_t> expected_;
  base::Buffer corners_;  // [ranged_.count]
  Level level_;           // by q
  base::Buffer seconds_;  // [LowestPlaces::padded(sorted_)] uint32: q of each p
  base::Buffer rows_;     // [sorted_] uint32: row number of each p
};

}  // namespace gpujoin::cpu
