// interned_side.hpp: a key column of byte strings, a table of its values, and the codes that stand
// for values in a join.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "src/base/memory.hpp"

namespace gpujoin::keys {

// Where the executor reads it. expected: rows < 2^32 - 1.
struct InternedSide {
  kernels::BytesColumn values;
  kernels::ValidityBits validity;
  uint64_t rows = 0;
};

// Values of a column, by which any columns of the same executor get codes. Const once it is made,
// and read by any number of queues that come behind the one that made it.
struct ValueTable {
  InternedSide side;  // whose bytes stay where they lie
  base::Buffer slots;
  base::Buffer compared;  // of the CPU: what is compared of its values first
};

// What became of the table's side. Codes are [rows] uint32 of the executor's memory, empty where a
// side has no rows; of either side they are equal where the values are, byte by byte and in length,
// but values that the table's side does not have may share theirs. A value of the table's side has
// the number of a row of it that has the value. One that only another side has: table.rows + row %
// (2^32 - table.rows), which no row of the table's side has. A NULL: 0.
struct Interned {
  ValueTable table;
  base::Buffer codes;
  bool are_rows = false;  // whether it is known that each code is its row's own number
};

}  // namespace gpujoin::keys
