#include "src/execute/moved_rows.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::Layout;

uint64_t width_in_runs(const ColumnView& column) {
  return column.layout == Layout::kBits ? 1 : static_cast<uint64_t>(column.width);
}

MovedRows::MovedRows(const PartitionShape& shape, const columns::Relation& rows, int64_t first,
                     int64_t count, std::optional<int64_t> first_number, uint64_t places)
    : places_(places) {
  for (size_t i = 0; i < shape.columns.size(); ++i) {
    values_.push_back(moved_.size());
    valid_.push_back(kNone);
    kernels::RunColumn made;
    made.width = static_cast<int32_t>(width_in_runs(shape.columns[i]));
    if (i >= rows.columns.size()) {
      made.first_number = first_number.value_or(0) + first;
      move(made, kNone);
      continue;
    }
    ColumnView const& column = rows.columns[i];
    auto const* const data = static_cast<const uint8_t*>(column.data);
    if (column.layout == Layout::kBits) {
      move_bits(data, column.parts->first_bit + first, count, column.memory);
    } else {
      auto const width = static_cast<uint64_t>(column.width);
      auto const* const begin = data + static_cast<uint64_t>(first) * width;
      move(made, add(begin, column.memory, static_cast<uint64_t>(count) * width));
    }
    if (column.validity == nullptr) continue;
    valid_.back() = moved_.size();
    move_bits(column.validity, column.validity_bit_offset + first, count, column.memory);
  }
}

size_t MovedRows::add(const void* data, base::Memory memory, uint64_t bytes) {
  given_.push_back({data, memory, bytes, in_bytes_});
  if (memory != base::Memory::kDevice) in_bytes_ += aligned_column(bytes);
  return given_.size() - 1;
}

void MovedRows::move(const kernels::RunColumn& column, size_t source) {
  moved_.push_back({column, source});
  moved_.back().column.before = row_bytes_;
  row_bytes_ += static_cast<uint64_t>(column.width);
}

void MovedRows::move_bits(const uint8_t* bits, int64_t first_bit, int64_t rows,
                          base::Memory memory) {
  kernels::RunColumn made;
  made.width = 1;
  made.are_bits = true;
  made.first_bit = first_bit % 8;
  auto const bytes = static_cast<uint64_t>((made.first_bit + rows + 7) / 8);
  move(made, add(bits + first_bit / 8, memory, bytes));
}

// Where the device reads it.
const void* MovedRows::source(const Moved& moved, std::byte* in) const {
  if (moved.source == kNone) return nullptr;
  Given const& given = given_[moved.source];
  return given.memory == base::Memory::kDevice ? given.data : in + given.at;
}

std::vector<kernels::RunColumn> MovedRows::columns(std::byte* in) const {
  std::vector<kernels::RunColumn> made;
  for (Moved const& moved : moved_) {
    made.push_back(moved.column);
    made.back().in = source(moved, in);
  }
  return made;
}

kernels::PartitionHash MovedRows::hash(const PartitionShape& shape, std::byte* in) const {
  kernels::PartitionHash made = shape.hash;
  for (size_t k = 0; k < shape.keys.size(); ++k) {
    auto const key = static_cast<size_t>(shape.keys[k]);
    made.columns[k].value.source = source(moved_[values_[key]], in);
    if (valid_[key] == kNone) continue;
    Moved const& valid = moved_[valid_[key]];
    made.columns[k].validity = {static_cast<const uint8_t*>(source(valid, in)),
                                valid.column.first_bit};
  }
  return made;
}

void MovedRows::name_runs(RowBlock* block) const {
  block->runs = block->memory.as<uint8_t>() + kRunsAt;
  block->row_bytes = row_bytes_;
  for (size_t i = 0; i < values_.size(); ++i) {
    block->values.push_back(moved_[values_[i]].column.before);
    block->valid.push_back(valid_[i] == kNone ? RowBlock::kNone : moved_[valid_[i]].column.before);
  }
}

}  // namespace gpujoin::execute
