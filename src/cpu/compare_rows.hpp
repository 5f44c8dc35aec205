// compare_rows.hpp: comparisons of two columns of one type as they lie, or of one with a constant,
// in the rows of a batch of pairs.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/conditions/simple_comparison.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/cpu/condition_vectors.hpp"

namespace gpujoin::cpu {

inline constexpr uint8_t kAnswerFalse = 0;
inline constexpr uint8_t kAnswerTrue = 1;
inline constexpr uint8_t kAnswerNull = 2;

// Whether all of them are true. answers: [batch.count] kAnswer*, kVectorPairs at most. expected:
// one at least; no row is missing.
void compare_rows(std::span<const kernels::SimpleComparison> conjunction,
                  const conditions::Sources& sources, const PairBatch& batch, uint8_t* answers);

}  // namespace gpujoin::cpu
