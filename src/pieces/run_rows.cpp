#include "src/pieces/run_rows.hpp"

#include <algorithm>
#include <cstring>

namespace gpujoin::pieces {

namespace {

void pack_bits(const uint8_t* bytes, int64_t rows, std::span<std::byte> bits) {
  std::fill(bits.begin(), bits.end(), std::byte{0});
  for (int64_t row = 0; row < rows; ++row) {
    bits[static_cast<size_t>(row / 8)] |= static_cast<std::byte>(bytes[row] << (row % 8));
  }
}

}  // namespace

std::shared_ptr<GatheredRows> gathered_rows_of(const execute::RowRun& run,
                                               const std::shared_ptr<const RowSchema>& schema,
                                               const RowMemory& memory) {
  execute::RowBlock const& block = *run.block;
  GatheredRows::Extent extent;
  extent.rows = run.rows();
  for (uint64_t const before : block.valid) {
    ColumnExtent column;
    column.rows = extent.rows;
    if (before != execute::RowBlock::kNone) {
      uint8_t const* const valid = run.begin() + run.place(before);
      column.nulls = std::count(valid, valid + extent.rows, uint8_t{0});
    }
    extent.columns.push_back(column);
  }
  auto rows = std::make_shared<GatheredRows>(schema, memory);
  auto const parts = rows->make_room(extent);
  for (size_t i = 0; i < schema->columns.size(); ++i) {
    columns::ColumnView const& column = schema->columns[i];
    auto const data = parts[GatheredColumn::kParts * i];
    auto const validity = parts[GatheredColumn::kParts * i + 2];
    uint8_t const* const values = run.begin() + run.place(block.values[i]);
    if (column.layout == columns::Layout::kBits) {
      pack_bits(values, extent.rows, data);
    } else if (!data.empty()) {
      std::memcpy(data.data(), values, data.size());
    }
    if (!validity.empty()) {
      pack_bits(run.begin() + run.place(block.valid[i]), extent.rows, validity);
    }
  }
  return rows;
}

}  // namespace gpujoin::pieces
