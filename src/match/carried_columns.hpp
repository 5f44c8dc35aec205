// carried_columns.hpp: the match that writes output columns, of partitions whose payloads moved with their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/match/carried_columns.hpp"
#include "src/base/context.hpp"
#include "src/columns/result.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// One side: mixed keys in contiguous partitions.
struct CarriedSide {
  const void* keys = nullptr;         // [rows]
  const uint32_t* offsets = nullptr;  // [2^radix_bits + 1]
  uint32_t rows = 0;
};

// One output column. Its memory is allocated and handed to `target`.
struct CarriedOutput {
  const void* source = nullptr;  // [rows] in the order of its side's keys; of a key: null
  int32_t width = 0;
  kernels::CarriedFrom from = kernels::CarriedFrom::kKey;
  columns::Storage* target = nullptr;
};

struct CarriedRows {
  uint64_t rows = 0;
  int32_t launches = 0;  // more than one: the output was larger than expected
};

// Writes every column of the join. Waits for the stream. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
CarriedRows carried_columns(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                            const CarriedSide& build, const CarriedSide& probe,
                            const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
