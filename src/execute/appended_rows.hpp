// appended_rows.hpp: columns of a result that is made of several parts, one after the other: rows
// that matched, then rows of either side without a match.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::execute {

struct ColumnPart {
  int64_t rows = 0;
  const columns::ResultColumn* column = nullptr;  // null: the side has no rows here, NULL
};

// missing: the byte that values of parts without a column are made of. memory: of all parts, and of
// what is made. A lone part is handed on without a copy, and the first one stays where it is when
// it has room for all and nobody else has its memory. present: null, or which rows have a value
// where no part has a NULL of its own, of all columns with such parts; null at first. Queued on the
// stream. Throws.
columns::ResultColumn append_rows(base::Queue& queue, base::Memory memory,
                                  const columns::ResultColumn& like,
                                  std::span<const ColumnPart> parts, uint8_t missing = 0,
                                  columns::Storage* present = nullptr);

// The GPU's part, in appended_rows_cuda.cpp.
void fill_on_gpu(base::Queue& queue, void* target, uint8_t value, uint64_t bytes);
columns::Storage append_bits_on_gpu(base::Queue& queue, std::span<const ColumnPart> parts);

}  // namespace gpujoin::execute
