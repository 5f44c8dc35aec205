// arithmetic.hpp: which types are calculated with, and what comes out.
#pragma once

#include <cstdint>

#include "src/conditions/expressions.hpp"

namespace gpujoin::conditions {

// The expression's number; -1 where the types do not go with the operator, and *why says so.
int32_t arithmetic_of(Expressions& expressions, gpujoin_operator operation, int32_t one,
                      int32_t other, const char** why);
int32_t arithmetic_of(Expressions& expressions, gpujoin_operator operation, int32_t one,
                      const char** why);

}  // namespace gpujoin::conditions
