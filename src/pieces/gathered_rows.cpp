#include "src/pieces/gathered_rows.hpp"

#include <algorithm>
#include <utility>

#include "src/columns/register_columns.hpp"

namespace gpujoin::pieces {

GatheredRows::GatheredRows(std::shared_ptr<const RowSchema> schema, RowMemory memory)
    : schema_(std::move(schema)), memory_(std::move(memory)) {
  columns_.reserve(schema_->columns.size());
  for (columns::ColumnView const& column : schema_->columns) columns_.emplace_back(column);
}

void GatheredRows::append(const columns::Relation& batch, int64_t first, int64_t count,
                          std::optional<int64_t> first_row_number) {
  append(batch, ChosenRows{nullptr, first, count}, first_row_number);
}

void GatheredRows::append_rows(const columns::Relation& batch, std::span<const uint32_t> rows,
                               std::optional<int64_t> first_row_number) {
  append(batch, ChosenRows{rows.data(), 0, static_cast<int64_t>(rows.size())}, first_row_number);
}

void GatheredRows::append(const columns::Relation& batch, const ChosenRows& rows,
                          std::optional<int64_t> first_row_number) {
  if (rows.count == 0) return;
  columns::check_row_count(rows_ + rows.count, "gathered rows");
  // A batch before this one may have failed.
  for (GatheredColumn& column : columns_) column.drop_what_is_not_kept();
  bool const makes_numbers = schema_->has_row_numbers && first_row_number.has_value();
  size_t const copied = columns_.size() - (makes_numbers ? 1 : 0);
  for (size_t i = 0; i < copied; ++i) {
    columns_[i].append(memory_, batch.columns[i], batch.rows, rows);
  }
  if (makes_numbers) columns_.back().append_numbers(memory_, rows, *first_row_number);
  for (GatheredColumn& column : columns_) column.keep();
  rows_ += rows.count;
}

void GatheredRows::append_all(cpu::Workers& workers,
                              std::span<const std::shared_ptr<const columns::Relation>> blocks) {
  int64_t rows = rows_;
  for (auto const& block : blocks) rows += block->rows;
  columns::check_row_count(rows, "gathered rows");
  for (GatheredColumn& column : columns_) column.drop_what_is_not_kept();
  workers.for_each("gather rows", static_cast<int64_t>(columns_.size()), [&](int64_t i, int32_t) {
    auto const column = static_cast<size_t>(i);
    for (auto const& block : blocks) {
      workers.poll();
      columns_[column].append(memory_, block->columns[column], block->rows,
                              ChosenRows{nullptr, 0, block->rows});
    }
  });
  for (GatheredColumn& column : columns_) column.keep();
  rows_ = rows;
}

void GatheredRows::expect_text(std::span<const uint64_t> bytes) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (bytes[i] != 0) columns_[i].expect_text(memory_, bytes[i]);
  }
}

uint64_t GatheredRows::bytes() const {
  uint64_t bytes = 0;
  for (GatheredColumn const& column : columns_) bytes += column.bytes();
  return bytes;
}

uint64_t GatheredRows::text_bytes() const {
  uint64_t most = 0;
  for (GatheredColumn const& column : columns_) most = std::max(most, column.extent().text_bytes);
  return most;
}

std::vector<std::span<const std::byte>> GatheredRows::parts() const {
  std::vector<std::span<const std::byte>> parts;
  for (GatheredColumn const& column : columns_) {
    for (std::span<std::byte> const part : column.parts()) parts.push_back(part);
  }
  return parts;
}

GatheredRows::Extent GatheredRows::extent() const {
  Extent extent;
  extent.rows = rows_;
  for (GatheredColumn const& column : columns_) extent.columns.push_back(column.extent());
  return extent;
}

std::vector<std::span<std::byte>> GatheredRows::make_room(const Extent& extent) {
  GatheredRows made(schema_, memory_);
  std::vector<std::span<std::byte>> parts;
  for (size_t i = 0; i < made.columns_.size(); ++i) {
    made.columns_[i].make_room(memory_, extent.columns[i]);
    for (std::span<std::byte> const part : made.columns_[i].parts()) parts.push_back(part);
  }
  made.rows_ = extent.rows;
  *this = std::move(made);
  return parts;
}

columns::Relation GatheredRows::view(std::shared_ptr<base::Context> context) const {
  columns::Relation relation;
  relation.context = std::move(context);
  relation.rows = rows_;
  for (GatheredColumn const& column : columns_) relation.columns.push_back(column.make_view());
  return relation;
}

std::shared_ptr<const columns::Relation> GatheredRows::take(
    std::shared_ptr<base::Context> context) {
  auto relation = std::make_shared<columns::Relation>(view(std::move(context)));
  auto buffers = std::make_shared<std::vector<base::Buffer>>();
  buffers->reserve(columns_.size() * GatheredColumn::kParts);
  for (GatheredColumn& column : columns_) column.give_buffers(*buffers);
  relation->owner = std::move(buffers);
  rows_ = 0;
  return relation;
}

}  // namespace gpujoin::pieces
