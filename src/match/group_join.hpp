// group_join.hpp: the match of partitions that adds up what meets, in the place of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/queue.hpp"
#include "src/match/carried_columns.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// Integers of at most 4 bytes without NULLs, in the order of their side's keys.
struct SummedColumn {
  const void* values = nullptr;
  int32_t width = 0;
  bool is_signed = false;
};

// A side with the columns that are summed up, kernels::kMostGroupSums of them at most.
struct SummedSide {
  CarriedSide side;
  std::vector<SummedColumn> columns;
};

// A group for each row of `side` with a match, in any order: `outputs` are its columns, all of them
// of the probe side in their words; their memory and that of counts and sums is made here. Waits.
struct JoinGroupSums {
  WrittenRows written;
  columns::Storage counts;  // [rows] int64
  std::vector<columns::Storage> of_side;
  std::vector<columns::Storage> of_other;
};
JoinGroupSums group_join(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                         const SummedSide& side, const SummedSide& other,
                         const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
