// case_condition.hpp: conditions of tests/cases, read: "(< left.a (+ right.b 1:int32))".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "tests/abi/case_table.hpp"

namespace gpujoin_test {

// A gpujoin_node, with what its values are.
struct CaseNode {
  gpujoin_operator operation = 0;
  int32_t argument_count = 0;
  gpujoin_side side = 0;
  int32_t column = 0;
  CaseTable values;  // of constants and IN: one column
};

// Nodes in postfix order. Throws std::runtime_error.
std::vector<CaseNode> condition_of(const std::string& text, const CaseTable& left,
                                   const CaseTable& right);

}  // namespace gpujoin_test
