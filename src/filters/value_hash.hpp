// value_hash.hpp: the hash that filters go by: of values, the same for keys that compare equal
// whatever their types, and one that a host can compute in its own scan.
//
//   integers below 2^63, dates, times, timestamps, durations, truth values:
//                         XXH64 of the value as an int64, lowest byte first; times of any unit as
//                         nanoseconds; a value that 64 bits do not hold as 16 bytes
//   floats                XXH64 of the value as a double, -0.0 as 0.0, NaN as 0x7ff8000000000000
//   other numbers         decimals and integers as m * 10^e, where m is no multiple of ten: XXH64
//                         of m as 32 bytes and e as 4
//   text, binary          XXH64 of the bytes
//   NULL                  a number of its own
//   several keys          XXH64 of their hashes, 8 bytes each
#pragma once

#include <cstdint>
#include <span>

#include "src/columns/column.hpp"

namespace gpujoin::filters {

// Of rows `first` to `first + count`, whose keys are `columns`, which are compared by `key_flags`
// (empty: 0). has_null: 1 of a row with a NULL in a key without NULL_EQUAL. Any thread; allocates
// nothing.
//
// expected: columns of `rows` rows in host memory, of kValues, kWide, kBits, kText or kNulls; at
// most kMostKeys of them.
void hash_values(std::span<const columns::ColumnView> columns, int64_t rows,
                 std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t* hashes,
                 uint8_t* has_null);

}  // namespace gpujoin::filters
