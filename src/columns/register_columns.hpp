// register_columns.hpp: a relation from plain column descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::columns {

// Row numbers are 4 bytes and the largest one is kept free. Throws INVALID_ARGUMENT or
// TOO_MANY_ROWS, naming `what`.
void check_row_count(int64_t rows, const char* what);

// Rows or bits before the first of a column, and rows of a caller's array: more than any address
// space holds, and few enough that every later product fits 63 bits.
inline constexpr int64_t kMostPosition = int64_t{1} << 50;

// Throws INVALID_ARGUMENT unless `data` is aligned to the width (at most 8), naming `what`.
void check_alignment(const void* data, int32_t width, const char* what);

// Throws INVALID_ARGUMENT, naming `what`, for text whose first and last offset, where the host can
// read them, lie before their data or have none. expected: rows > 0.
void check_text(const ColumnView& column, int64_t rows, const char* what);

// Checks each descriptor and copies it; the columns' memory stays the caller's.
std::shared_ptr<Relation> register_columns(const std::shared_ptr<base::Context>& context,
                                           int64_t rows, std::span<const gpujoin_column> columns);

}  // namespace gpujoin::columns
