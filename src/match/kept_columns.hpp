// kept_columns.hpp: columns of a side's rows without a match, beside those of a join of partitions.
#pragma once

#include <cstdint>
#include <vector>

#include "src/match/carried_columns.hpp"
#include "src/match/chunked_columns.hpp"

namespace gpujoin::match {

// Written by the match while it writes pairs, and for partitions that it leaves by a set.
class KeptColumns {
 public:
  // blocks: of the match's launch. kept: outlives this.
  KeptColumns(base::Queue& queue, const CarriedSide& side, const CarriedSide& other, KeptSide* kept,
              uint32_t blocks);
  // For all rows of the side: none is looked for again.
  bool has_room() const;

  // Before the match's launch.
  template <typename Key>
  void start(kernels::RowsWithoutMatch<Key>* rows, uint32_t blocks) {
    rows->are_wanted = true;
    for (CarriedOutput const& output : *kept_->outputs) {
      if (output.from == kernels::CarriedFrom::kKey) rows->have_keys = true;
    }
    columns_.start(rows);
    columns_.add_launch(blocks);
  }
  // left: partitions whose rows are still to be told; null: all are, and no match told any.
  void add_set(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
               const uint8_t* left);
  void finish();

 private:
  const CarriedSide& side_;
  const CarriedSide& other_;
  KeptSide* kept_;
  ChunkedColumns columns_;
  uint64_t needed_;  // places
};

// All of them by sets, before the join.
void write_unmatched(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                     const CarriedSide& build, const CarriedSide& probe, KeptSides* kept);

// What the columns of all three outputs have in common: see column_width.
int32_t column_width(const std::vector<CarriedOutput>& outputs, const KeptSides& kept,
                     int32_t key_width);

}  // namespace gpujoin::match
