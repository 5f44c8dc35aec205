// carry_rule.hpp: what travels through the later joins of a sequence for a dimension: its columns,
// as they come from their join, or its row numbers, by which the columns are fetched at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/device_facts.hpp"

namespace gpujoin::plan {

struct DimensionColumns {
  std::vector<int32_t> widths;  // of its output columns; a nullable one adds a 1 for its validity
  int64_t rows = 0;
  int32_t later_joins = 0;
  bool row_numbers_wanted = false;  // they travel in either case
};

// True when carrying the columns moves no more bytes. Each later join gathers what travels at
// random, or moves it with its keys, which costs about the same (traffic::gather and
// traffic::radix_sort of two passes: 40 and 36 bytes for a value of 4); a fetch at the end gathers
// each column once, at random unless the column fits the cache. Rows are taken to stay as many.
bool carries_columns(const DimensionColumns& dimension, const base::DeviceFacts& facts);

}  // namespace gpujoin::plan
