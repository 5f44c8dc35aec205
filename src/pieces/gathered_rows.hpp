// gathered_rows.hpp: rows of many batches, copied one behind the other, column by column.
//
// Of one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/workers.hpp"
#include "src/pieces/gathered_column.hpp"
#include "src/pieces/row_schema.hpp"

namespace gpujoin::pieces {

class GatheredRows {
 public:
  GatheredRows(std::shared_ptr<const RowSchema> schema, RowMemory memory);

  // Both append rows of a batch that check_batch let pass and that lies in host memory. Row i of it
  // has the number first_row_number + i, of those that the schema may ask for. Without one, the
  // batch is gathered rows of the same schema, with their numbers, where it has them.
  // Throw MEMORY_LIMIT, OUT_OF_MEMORY, or TOO_MANY_ROWS for 2^32 - 1 rows, or 2^31 bytes in a
  // column of UTF8 or BINARY. Nothing of the batch was added then.
  void append(const columns::Relation& batch, int64_t first, int64_t count,
              std::optional<int64_t> first_row_number);
  void append_rows(const columns::Relation& batch, std::span<const uint32_t> rows,
                   std::optional<int64_t> first_row_number);
  // All rows of gathered rows of the same schema, the columns at the same time. Throws as those do,
  // and CANCELLED.
  void append_all(cpu::Workers& workers,
                  std::span<const std::shared_ptr<const columns::Relation>> blocks);
  // Text that is to come, of each column: it is then copied once, not at each doubling. expected:
  // no rows.
  void expect_text(std::span<const uint64_t> bytes);

  const std::shared_ptr<const RowSchema>& schema() const { return schema_; }
  const RowMemory& memory() const { return memory_; }
  int64_t rows() const { return rows_; }
  uint64_t bytes() const;       // allocated from the pool
  uint64_t text_bytes() const;  // of the column that has most of them

  // For a file: the bytes of all buffers, which may be written back to back, and what must be
  // remembered besides to make rows of them again.
  std::vector<std::span<const std::byte>> parts() const;
  struct Extent {
    int64_t rows = 0;
    std::vector<ColumnExtent> columns;
  };
  Extent extent() const;
  // The other way: room for rows of such an extent, and the parts, of the same sizes in the same
  // order, which the caller has to fill before anything else. Throws MEMORY_LIMIT or OUT_OF_MEMORY.
  // expected: no rows.
  std::vector<std::span<std::byte>> make_room(const Extent& extent);

  // All rows, as a relation that does not own them: good until rows are appended.
  columns::Relation view(std::shared_ptr<base::Context> context) const;
  // All rows, as a relation that owns them. *this is empty afterwards; when it throws, as before.
  std::shared_ptr<const columns::Relation> take(std::shared_ptr<base::Context> context);

 private:
  void append(const columns::Relation& batch, const ChosenRows& rows,
              std::optional<int64_t> first_row_number);

  std::shared_ptr<const RowSchema> schema_;
  RowMemory memory_;
  int64_t rows_ = 0;
  std::vector<GatheredColumn> columns_;
};

}  // namespace gpujoin::pieces
