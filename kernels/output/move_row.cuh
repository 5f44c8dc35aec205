// move_row.cuh: a row of the output taken from one place to another, in all columns
//
// Source   ours
// In       columns of any width
// Out      the row at `to`
// Moves    2 * the columns' widths
#pragma once

#include <cstdint>

#include "kernels/output/squeeze_pages.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

__device__ __forceinline__ void move_row(const SqueezedColumns& columns, unsigned long long to,
                                         unsigned long long from) {
  for (int32_t i = 0; i < columns.count; ++i) {
    SqueezedColumn const& column = columns.columns[i];
    with_value_type(column.width, [&](auto zero) {
      auto* const values = static_cast<decltype(zero)*>(column.data);
      values[to] = values[from];
    });
  }
}

}  // namespace gpujoin::kernels
