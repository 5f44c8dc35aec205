// valid_rows.hpp: rows of which no key column is NULL.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "kernels/bytes_column.hpp"
#include "src/columns/column.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// A bit for each row that is valid in all columns, in whole words; those behind the last are any.
void valid_in_all(Workers& workers, const char* stage,
                  std::span<const kernels::ValidityBits> columns, uint64_t rows, uint64_t* words);

// what(row, true) of the rows [first, end) that are valid, of a column with NULLs. Of 64 rows of
// which few are valid it is not called for the others; else what(row, false) of those, too, which
// is faster than a branch that nobody can foresee.
template <typename What>
void each_valid_row(const columns::ColumnView& column, uint64_t first, uint64_t end,
                    const What& what) {
  constexpr int kFew = 20;
  auto const offset = static_cast<uint64_t>(column.validity_bit_offset);
  for (; first < end; first += 64) {
    uint64_t const last = std::min(first + 64, end);
    uint64_t valid = columns::bits_of_64_rows(column.validity, offset + first, offset + last);
    if (std::popcount(valid) <= kFew) {
      for (; valid != 0; valid &= valid - 1) {
        what(first + static_cast<uint64_t>(std::countr_zero(valid)), true);
      }
    } else {
      for (uint64_t row = first; row < last; ++row) what(row, (valid >> (row - first) & 1) != 0);
    }
  }
}

}  // namespace gpujoin::cpu
