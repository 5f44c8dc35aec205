// partition_sets.hpp: rows of one side of partitions that have a match, or that have none.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/queue.hpp"
#include "src/match/carried_columns.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

enum class SetRows { kWithMatch, kWithoutMatch };

// Writes columns of `side`, as the probe side, for each of its rows whose key `other` has, or has
// not, once and in any order. Waits as carried_columns does, and throws as it does.
WrittenRows partition_set(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                          SetRows wanted, const CarriedSide& side, const CarriedSide& other,
                          const std::vector<CarriedOutput>& outputs);

// Queues the same for rows without a match, behind what columns have since their start. left:
// [2^radix_bits] not 0: of these partitions; null: of all.
void add_unmatched(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                   const CarriedSide& side, const CarriedSide& other, const uint8_t* left,
                   const std::vector<CarriedOutput>& outputs, ChunkedColumns& columns);
// The same of one side of a join whose columns are row numbers alone, among its pairs: the other
// side's are missing.
void add_unmatched_among_pairs(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                               const CarriedSide& side, const CarriedSide& other,
                               const uint8_t* left, bool is_build, ChunkedColumns& columns);
// Blocks of their launches, at most.
uint32_t most_set_blocks(const base::Queue& queue);

}  // namespace gpujoin::match
