// case_table.hpp: the tables of tests/cases, as words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpujoin.h"

namespace gpujoin_test {

struct CaseColumn {
  std::string name;
  gpujoin_type type = 0;
  size_t width = 0;   // of a value; 0: text, bits, nothing
  int precision = 0;  // of a decimal; 0: it is none
  int scale = 0;
};

// Of "name:type". Throws std::runtime_error.
CaseColumn case_column(const std::string& word);

struct CaseTable {
  std::vector<CaseColumn> columns;
  std::vector<std::vector<std::string>> rows;  // words
  int32_t position_of(const std::string& name) const;
};

}  // namespace gpujoin_test
