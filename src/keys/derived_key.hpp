// derived_key.hpp: how two key columns of unlike types, or of a type that does not compare by its
// bits, become columns that do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/keys/derived_key.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::keys {

// One column of either side's key, of the same width.
struct KeyPart {
  kernels::KeyOp left = kernels::KeyOp::kAsIs;
  kernels::KeyOp right = kernels::KeyOp::kAsIs;
  int32_t width = 0;  // 4 or 8
};

// Nothing: the types do not compare. One part of kAsIs twice: the columns do as they are. Integers
// compare by value whatever their widths and signs, floats by value; others with their own type and
// unit. As the caller's columns are named: their types and Arrow formats.
std::optional<std::vector<KeyPart>> compare_by(const columns::ColumnView& left,
                                               const columns::ColumnView& right);

}  // namespace gpujoin::keys
