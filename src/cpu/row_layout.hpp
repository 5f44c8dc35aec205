// row_layout.hpp: what a row of one side carries through the partition pass.
//
//   | key 4 or 8 | row number 4 | payloads, widest first | NULL bits |  padding  |
//
// The row number is there when pairs are wanted or payloads are fetched from the input columns
// (gather untransformed), the payloads when they travel with their key (gather transformed), the
// NULL bits (1 = valid) when a payload that travels may be NULL. Rows are padded to a power of two,
// or to whole cache lines, so that a row never straddles a line and lines are written whole.
//
// A row of twice the key's width is also an entry of the hash table; a longer one is pointed to by
// its entry. See partition_table.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "src/columns/column.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::cpu {

struct CarriedColumn {
  const columns::ColumnView* column = nullptr;
  uint32_t offset = 0;    // of its value in the row
  int32_t null_bit = -1;  // of its validity among the row's NULL bits; -1 when it has no NULLs
};

struct RowLayout {
  const columns::ColumnView* key = nullptr;
  // The same values, of which fewer may be valid: rows of the others are not moved. Null: the key.
  const columns::ColumnView* moved = nullptr;
  uint32_t key_bytes = 0;  // 0: the row is without its key, whose number says where it is
  uint32_t row_bytes = 0;
  bool has_row_number = false;
  uint32_t row_number_offset = 0;
  uint32_t null_bits_offset = 0;
  uint32_t null_bits_bytes = 0;
  std::vector<CarriedColumn> carried;

  const columns::ColumnView& moved_key() const { return moved != nullptr ? *moved : *key; }
  bool row_is_entry() const { return row_bytes == 2 * key_bytes; }
  // nullptr when the column does not travel.
  const CarriedColumn* find(const columns::ColumnView* column) const;
};

// key: of the relation, or the hashes of several keys. output_columns: of this side, empty when
// nothing is materialized. row_numbers: wanted whatever is materialized.
RowLayout layout_rows(const columns::Relation& relation, const columns::ColumnView& key,
                      const std::vector<int32_t>& output_columns, bool row_numbers,
                      plan::Gather gather);

// Columns that travel besides. expected: nothing but the row number does.
void add_carried(const std::vector<const columns::ColumnView*>& columns, RowLayout* layout);

// As layout_rows, without the key: of rows that are found by its number. One field is a row of its
// width, several are 8 bytes at the least.
RowLayout layout_places(const columns::Relation& relation, const columns::ColumnView& key,
                        const std::vector<int32_t>& output_columns, bool row_numbers);

}  // namespace gpujoin::cpu
