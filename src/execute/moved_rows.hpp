// moved_rows.hpp: what a block of rows is on its way to its partitions: which bytes come, where
// they lie then, and where their runs do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/execute/partitioned_rows.hpp"

namespace gpujoin::execute {

// Columns begin at multiples of it.
constexpr uint64_t kColumnAlign = 256;
constexpr uint64_t aligned_column(uint64_t bytes) {
  return (bytes + kColumnAlign - 1) / kColumnAlign * kColumnAlign;
}

// Where a block's runs begin, behind its header.
constexpr uint64_t kRunsAt = aligned_column(sizeof(kernels::RunHeader));

// Bytes of a row's value in a run: of bits one.
uint64_t width_in_runs(const columns::ColumnView& column);

class MovedRows {
 public:
  // Rows first to first + count; places: of each column's runs. first_number: of row 0 of the
  // relation.
  MovedRows(const PartitionShape& shape, const columns::Relation& rows, int64_t first,
            int64_t count, std::optional<int64_t> first_number, uint64_t places);

  struct Given {
    const void* data;
    base::Memory memory;
    uint64_t bytes;
    uint64_t at;  // behind the beginning of what came; of device memory nowhere
  };
  const std::vector<Given>& given() const { return given_; }
  uint64_t in_bytes() const { return in_bytes_; }
  uint64_t row_bytes() const { return row_bytes_; }                      // of a row in a run
  uint64_t out_bytes() const { return kRunsAt + places_ * row_bytes_; }  // the header first

  // in: where they lie on the device.
  std::vector<kernels::RunColumn> columns(std::byte* in) const;
  kernels::PartitionHash hash(const PartitionShape& shape, std::byte* in) const;
  // expected: the block's memory.
  void name_runs(RowBlock* block) const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Moved {
    kernels::RunColumn column;
    size_t source;  // among those given; kNone: row numbers
  };

  size_t add(const void* data, base::Memory memory, uint64_t bytes);
  void move(const kernels::RunColumn& column, size_t source);
  void move_bits(const uint8_t* bits, int64_t first_bit, int64_t rows, base::Memory memory);
  const void* source(const Moved& moved, std::byte* in) const;

  uint64_t places_;
  uint64_t in_bytes_ = 0;
  uint64_t row_bytes_ = 0;
  std::vector<Given> given_;
  std::vector<Moved> moved_;
  std::vector<size_t> values_;  // of each column, among those that are moved
  std::vector<size_t> valid_;   // kNone: it has no NULLs
};

}  // namespace gpujoin::execute
