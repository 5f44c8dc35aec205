// range_sides.hpp: the rows of a range join's sides that can match, in the order of their codes.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/range_problem.hpp"

namespace gpujoin::match {

// Numbers of the rows without a NULL in any inequality's column of the side.
struct RowList {
  base::Buffer numbers;  // [count] uint32 on the device; empty: 0 to count - 1
  uint32_t count = 0;
};
RowList rows_without_null(base::Queue& queue, const columns::RangeProblem& problem, bool ranged);
// The others.
RowList rows_with_null(base::Queue& queue, const columns::RangeProblem& problem, bool ranged);

struct SortedSide {
  base::Buffer codes;  // [count] uint64, ascending
  base::Buffer rows;   // [count] uint32
  uint32_t count = 0;
};
// flip: is XORed with every code.
SortedSide sort_side(base::Queue& queue, const uint64_t* codes, const RowList& rows, uint64_t flip);

// Codes of rows, [count] uint64.
base::Buffer codes_of_rows(base::Queue& queue, const uint64_t* codes, const uint32_t* rows,
                           uint32_t count);

// Of rows[i] those whose flags[i] is not 0, in their order.
RowList select_rows(base::Queue& queue, const uint32_t* rows, const uint32_t* flags,
                    uint32_t count);

}  // namespace gpujoin::match
