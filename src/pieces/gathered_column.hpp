// gathered_column.hpp: one column of gathered rows, which grows as batches come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/bytes_column.hpp"
#include "src/base/memory.hpp"
#include "src/columns/column.hpp"
#include "src/pieces/row_memory.hpp"

namespace gpujoin::pieces {

// Of a batch: those that are named, or those that follow each other.
struct ChosenRows {
  const uint32_t* numbers = nullptr;  // null: from `first` on
  int64_t first = 0;
  int64_t count = 0;

  uint32_t operator[](int64_t i) const {
    return numbers != nullptr ? numbers[i] : static_cast<uint32_t>(first + i);
  }
  ChosenRows part(int64_t begin, int64_t rows) const {
    return {numbers == nullptr ? nullptr : numbers + begin, first + begin, rows};
  }
};

// How far a column goes.
struct ColumnExtent {
  int64_t rows = 0;
  int64_t nulls = 0;        // not counted where all rows are NULL by their type
  uint64_t text_bytes = 0;  // of text
};

// What is appended counts once it is kept: until then, what a failure left is written over.
class GatheredColumn {
 public:
  // like: as in RowSchema::columns.
  explicit GatheredColumn(columns::ColumnView like) : like_(std::move(like)) {}

  // given: a batch's column of `given_rows` rows in host memory, of the same type or one that
  // becomes it. Throws MEMORY_LIMIT, OUT_OF_MEMORY, or TOO_MANY_ROWS for more text than offsets
  // count.
  void append(const RowMemory& memory, const columns::ColumnView& given, int64_t given_rows,
              const ChosenRows& rows);
  // The row numbers themselves, counted from first_number on. expected: INT64.
  void append_numbers(const RowMemory& memory, const ChosenRows& rows, int64_t first_number);
  // Room for so many bytes of text in all. expected: text, and no rows.
  void expect_text(const RowMemory& memory, uint64_t bytes) { reserve_text(memory, bytes); }
  void keep() noexcept { kept_ = ahead_; }
  void drop_what_is_not_kept() noexcept { ahead_ = kept_; }

  const ColumnExtent& extent() const { return kept_; }
  uint64_t bytes() const { return data_.bytes() + offsets_.bytes() + validity_.bytes(); }

  // Data, offsets, validity: the bytes that the rows fill; empty where there are none.
  static constexpr size_t kParts = 3;
  std::array<std::span<std::byte>, kParts> parts() const;
  // Makes room for what parts() then names, whose bytes the caller writes. expected: no rows.
  void make_room(const RowMemory& memory, const ColumnExtent& extent);

  // The rows as a view, whose memory goes to `buffers`. *this is empty afterwards. expected: room
  // for kParts more in `buffers`; after make_view, so that nothing throws.
  columns::ColumnView make_view() const;
  void give_buffers(std::vector<base::Buffer>& buffers) noexcept;

 private:
  // Of positions in a dictionary or in runs at a time: they stay in the first cache.
  static constexpr int64_t kPositionsAtOnce = 1024;

  // positions: a row of `values` for each of rows.numbers, or kNoPosition; null: it has none.
  void append_values(const RowMemory& memory, const columns::ColumnView& values, int64_t value_rows,
                     const ChosenRows& rows, uint32_t* positions);
  int64_t append_validity(const RowMemory& memory, const columns::ColumnView& values,
                          const ChosenRows& rows, bool may_miss);
  void append_nothing(const RowMemory& memory, int64_t count);
  void append_bits(const RowMemory& memory, const columns::ColumnView& values,
                   const ChosenRows& rows, int64_t nulls);
  void append_fixed(const RowMemory& memory, const columns::ColumnView& values,
                    const ChosenRows& rows, int64_t nulls);
  void append_text(const RowMemory& memory, const columns::ColumnView& values, int64_t value_rows,
                   const ChosenRows& rows, int64_t nulls);
  template <typename Offset>
  bool append_slice(const RowMemory& memory, const columns::ColumnView& values, int64_t value_rows,
                    const ChosenRows& rows, int64_t nulls);
  template <typename Offset, kernels::BytesLayout kLayout>
  void append_spans(const RowMemory& memory, const kernels::BytesColumn& values,
                    const ChosenRows& rows, int64_t nulls);
  std::byte* more_values(const RowMemory& memory, int64_t count);
  template <typename Offset>
  Offset* more_offsets(const RowMemory& memory, int64_t count);
  void reserve_text(const RowMemory& memory, uint64_t bytes);

  columns::ColumnView like_;
  base::Buffer data_;
  base::Buffer offsets_;
  base::Buffer validity_;  // none until a NULL comes
  ColumnExtent kept_;
  ColumnExtent ahead_;  // with what is appended and not kept
};

}  // namespace gpujoin::pieces
