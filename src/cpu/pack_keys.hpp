// pack_keys.hpp: key columns as one code of 4 or 8 bytes, where the bits that vary fit one
// (src/keys/encoding.hpp). A look at all rows says so: equal codes are equal keys, and nothing is
// verified.
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

// Of the rows that are not NULL; drawn: of a few of them.
keys::ColumnRange range_of(Workers& workers, const KeySource& source, uint64_t rows);
keys::ColumnRange drawn_range_of(const KeySource& source, uint64_t rows);

// codes: [rows] of the encoding's width; of rows with a NULL any. expected: packed by ranges that
// hold all others' values.
void pack_keys(Workers& workers, std::span<const KeySource> columns,
               const keys::KeyEncoding& encoding, uint64_t rows, void* codes);

}  // namespace gpujoin::cpu
