// neighbours.hpp: range joins in which the matches of a row are neighbours in the sorted side.
#pragma once

#include "src/cpu/code_positions.hpp"
#include "src/cpu/range_join.hpp"
#include "src/cpu/ranged_rows.hpp"
#include "src/cpu/sort_codes.hpp"

namespace gpujoin::cpu {

class Neighbours : public RangeJoin {
 public:
  // expected: problem.has_neighbours().
  Neighbours(base::Queue& queue, Workers& workers, const columns::RangeProblem& problem);
  uint64_t expected_pairs() override { return pairs_; }
  void find(PairTaker& taker) override;
  void mark_matched(columns::RowMarks& marks) override;

 private:
  // Of a row's matches: positions among the sorted rows.
  struct Range {
    uint32_t first;
    uint32_t end;
  };
  void look_up(const columns::RangeProblem& problem);

  base::Queue& queue_;
  Workers& workers_;
  RowList ranged_;
  base::Buffer sorted_rows_;
  base::Buffer ranges_;  // [ranged_.count]
  uint64_t pairs_ = 0;
};

}  // namespace gpujoin::cpu
