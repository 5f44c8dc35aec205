// selection.hpp: relations of which some rows are read, and what a join makes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/memory.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// As the caller gave it, whose memory it is.
struct Selection {
  std::shared_ptr<const Relation> of;  // whose rows are picked; may be selected itself
  bool is_bitmap = false;              // a bit for each row, or else row numbers
  const void* data = nullptr;
  int64_t first_bit = 0;  // of a bitmap
  int32_t width = 0;      // of a row number: 4, or 8 with a sign
  int64_t count = 0;      // rows that are picked
  base::Memory memory = base::Memory::kHost;
  Storage before;  // of a bitmap: see RowBits
};

// Of a relation that has copies of the columns that a join reads, of the rows that are picked.
struct Origin {
  std::shared_ptr<const Relation> relation;  // as registered
  int64_t count = 0;                         // rows that were picked
  Storage numbers;  // [count] uint32, row numbers in it; null: not asked for
  base::Memory memory = base::Memory::kHost;  // of the numbers
  std::vector<bool> is_copied;                // of its columns: else they are those as registered
  int32_t number_column = -1;  // of the copies: the numbers, as a column of UINT32; -1: none
};

// Bits of a bitmap, one a row; only bytes that hold them are read.
struct RowBits {
  const uint8_t* bits = nullptr;
  int64_t first_bit = 0;  // of row 0
  uint64_t rows = 0;
  // Of device memory: where counting them left how many are picked before each part of the rows;
  // null: who picks by them counts them.
  Storage before = nullptr;
  bool are_unset = false;  // rows whose bit is 0 are picked
};

struct PickedCount {
  uint64_t rows = 0;
  Storage before;  // of RowBits
};

// Values of 1, 2, 4, 8 or 16 bytes: those of all rows, and room for those that are picked.
struct PickedColumn {
  const void* source = nullptr;
  void* target = nullptr;
  int32_t width = 0;
};

// Behind all selections.
inline std::shared_ptr<const Relation> as_registered(std::shared_ptr<const Relation> relation) {
  while (relation->selection != nullptr) relation = relation->selection->of;
  return relation;
}

}  // namespace gpujoin::columns
