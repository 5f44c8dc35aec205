// compare_rows.hpp: a comparison of two columns of one type as they lie, or of one with a constant,
// in the rows of a batch of pairs.
#pragma once

#include <cstdint>

#include "kernels/conditions/simple_comparison.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/cpu/condition_vectors.hpp"

namespace gpujoin::cpu {

// answers: [batch.count] 0 false, 1 true, 2 NULL. expected: no row is missing.
void compare_rows(const kernels::SimpleComparison& comparison, const conditions::Sources& sources,
                  const PairBatch& batch, uint8_t* answers);

}  // namespace gpujoin::cpu
