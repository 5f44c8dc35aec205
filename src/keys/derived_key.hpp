// derived_key.hpp: how two key columns of unlike types, or of a type that does not compare by its
// bits, become columns that do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/keys/derived_key.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::keys {

// What is made of one side's column. Without the source and its places.
using KeyStep = kernels::DerivedKey;

// One column of either side's key, of the same width.
struct KeyPart {
  KeyStep left;
  KeyStep right;
  int32_t width = 0;  // 4 or 8
};

// How two columns are compared.
struct Comparison {
  std::vector<KeyPart> parts;  // one that is kAsIs twice: the columns do as they are
  // Values of any number of bytes: the two columns become codes by which they are equal, together.
  bool by_bytes = false;
};

// Whose values are compared: of dictionaries and runs, theirs.
const columns::ColumnView& values_of(const columns::ColumnView& column);

// Nothing: the types do not compare. Integers and decimals compare by value whatever their widths,
// signs and scales, floats by value, times, durations, dates and timestamps whatever their units, a
// timestamp with a zone with no other; text with text, binary with binary; NULL columns with all.
// Others with their own type. flags: GPUJOIN_KEY_*, of which NULL_EQUAL changes nothing here.
std::optional<Comparison> compare_by(const columns::ColumnView& left,
                                     const columns::ColumnView& right, int32_t flags);

}  // namespace gpujoin::keys
