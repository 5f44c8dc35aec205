#include "src/pieces/slice.hpp"

#include <algorithm>
#include <utility>

namespace gpujoin::pieces {

namespace {

using columns::ColumnParts;
using columns::ColumnView;
using columns::Layout;

const void* behind(const void* data, int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<const std::byte*>(data) + bytes;
}

ColumnView slice(const ColumnView& whole, int64_t first) {
  ColumnView part = whole;
  if (part.validity != nullptr) part.validity_bit_offset += first;
  if (part.layout == Layout::kBits || part.layout == Layout::kText) {
    auto parts = std::make_shared<ColumnParts>(*whole.parts);
    if (part.layout == Layout::kBits) parts->first_bit += first;
    if (part.layout == Layout::kText) {
      parts->offsets = behind(parts->offsets, first * parts->offset_width);
    }
    part.parts = std::move(parts);
  } else if (part.layout != Layout::kNulls) {
    part.data = behind(part.data, first * part.width);
  }
  return part;
}

}  // namespace

std::shared_ptr<const columns::Relation> slice(
    const std::shared_ptr<const columns::Relation>& whole, int64_t first, int64_t rows) {
  if (first == 0 && rows == whole->rows) return whole;
  auto part = std::make_shared<columns::Relation>();
  part->context = whole->context;
  part->rows = rows;
  part->ready_event = whole->ready_event;
  part->owner = std::const_pointer_cast<columns::Relation>(whole);
  for (ColumnView const& column : whole->columns) part->columns.push_back(slice(column, first));
  return part;
}

bool can_be_sliced(const columns::Relation& relation) {
  return relation.selection == nullptr &&
         std::none_of(relation.columns.begin(), relation.columns.end(), [](auto const& column) {
           return column.layout == Layout::kRuns || column.layout == Layout::kOther;
         });
}

std::shared_ptr<const columns::Relation> without_rows(const columns::Relation& like) {
  auto none = std::make_shared<columns::Relation>();
  none->context = like.context;
  for (ColumnView column : like.columns) {
    column.validity = nullptr;
    column.validity_bit_offset = 0;
    none->columns.push_back(std::move(column));
  }
  return none;
}

}  // namespace gpujoin::pieces
