// arrow_columns.hpp: views of Arrow arrays of every layout, and what is asked of their structs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpujoin.h"
#include "src/columns/column.hpp"

namespace gpujoin::columns {

// A schema and an array that describe each other, and the names they have in messages.
struct ArrowNode {
  const ArrowSchema& schema;
  const ArrowArray& array;
  std::string schema_name;
  std::string name;
};

// Each throws INVALID_ARGUMENT and names the argument.
// Row positions in a producer's buffers, and how many of them are NULL: -1 is not counted.
void check_extent(const ArrowArray& array, const std::string& argument);
void check_buffers(const ArrowArray& array, int64_t expected, const char* format,
                   const std::string& argument);
// Schema and array describe one tree; what is below the children of a struct is not read.
void check_children(const ArrowSchema& schema, const ArrowArray& array, const char* schema_name,
                    const char* array_name);

// Views of a batch's columns.
class ArrowColumns {
 public:
  // owner: keeps the batch's buffers; views of dictionaries and of views share it.
  ArrowColumns(base::Memory memory, std::shared_ptr<const void> owner)
      : memory_(memory), owner_(std::move(owner)) {}

  // Rows `first_row` to `first_row + rows - 1` of the array, its offset not counted. Copies no
  // value. Offsets, positions and run ends themselves are not asked whether they make sense: who
  // reads them does.
  ColumnView view_of(const ArrowNode& node, int64_t first_row, int64_t rows) const;

 private:
  std::shared_ptr<ColumnParts> make_parts() const;
  void take_values(const ArrowNode& node, int64_t offset, int64_t rows, int32_t scale,
                   ColumnView& view) const;
  void take_text(const ArrowNode& node, int64_t offset, int64_t rows, ColumnView& view) const;
  void take_views(const ArrowNode& node, int64_t offset, int64_t rows, ColumnView& view) const;
  void take_dictionary(const ArrowNode& node, int64_t offset, int64_t rows, ColumnView& view) const;
  void take_runs(const ArrowNode& node, int64_t offset, int64_t rows, ColumnView& view) const;

  base::Memory memory_;
  std::shared_ptr<const void> owner_;
};

}  // namespace gpujoin::columns
