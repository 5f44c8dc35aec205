// pack_keys.hpp: key columns as one code of 4 or 8 bytes, where the bits that vary fit one
// (src/keys/encoding.hpp). A look at all rows of one side says so: what it has is told apart from
// all else, and nothing is verified.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/keys/derived_key.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/encoding.hpp"

namespace gpujoin::cpu {

// A key column of one side: how its values are made, and which of its rows are NULL.
struct KeySource {
  kernels::DerivedKey step;
  int32_t width = 0;  // of its values: 4 or 8
  kernels::ValidityBits validity;
};

// Of the rows that are not NULL.
keys::ColumnRange range_of(Workers& workers, const KeySource& source, uint64_t rows);

// Of a few of them, at equal distances.
struct DrawnValues {
  keys::ColumnRange range;
  bool ascend = true;  // none is less than the one before
};
DrawnValues draw_values(const KeySource& source, uint64_t rows);

// codes: [rows] of the encoding's width; of rows with a NULL any. Of a row with a value in no
// field's range it is none that a row inside has: the bit above all fields is set. expected: there
// are no such rows, or there is such a bit.
void pack_keys(Workers& workers, std::span<const KeySource> columns,
               const keys::KeyEncoding& encoding, uint64_t rows, void* codes);

}  // namespace gpujoin::cpu
