// valid_rows.hpp: rows of which no key column is NULL.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/bytes_column.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// A bit for each row that is valid in all columns, in whole words; those behind the last are any.
void valid_in_all(Workers& workers, const char* stage,
                  std::span<const kernels::ValidityBits> columns, uint64_t rows, uint64_t* words);

}  // namespace gpujoin::cpu
