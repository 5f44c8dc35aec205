// condition.hpp: what a join asks besides equal keys, as the caller gave it: checked in its form,
// not yet in its types.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpujoin.h"

namespace gpujoin::columns {

struct Relation;

// In postfix order: takes the values of `argument_count` nodes before it.
struct ConditionNode {
  gpujoin_operator operation = 0;
  int32_t argument_count = 0;
  bool of_left = false;                    // of GPUJOIN_OPERATOR_COLUMN
  int32_t column = 0;                      // of COLUMN, CONSTANT and IN
  std::shared_ptr<const Relation> values;  // of CONSTANT and IN, in host memory
};

struct Condition {
  std::vector<ConditionNode> nodes;  // the last one is the answer
};

// Columns of one side that it reads, once each.
std::vector<int32_t> columns_read(const Condition& condition, bool left);

}  // namespace gpujoin::columns
