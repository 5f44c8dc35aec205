#include "src/pieces/key_words.hpp"

namespace gpujoin::pieces {

kernels::BytesColumn bytes_in_host(const columns::ColumnView& column, int64_t rows) {
  kernels::BytesColumn bytes;
  bytes.bytes = static_cast<const uint8_t*>(column.data);
  if (column.layout != columns::Layout::kText) {
    bytes.width = column.width;
    bytes.first = bytes.bytes;
    bytes.end = bytes.bytes + rows * column.width;
    return bytes;
  }
  bool const is_large = column.parts->offset_width == 8;
  bytes.layout = is_large ? kernels::BytesLayout::kOffsets64 : kernels::BytesLayout::kOffsets32;
  bytes.places = column.parts->offsets;
  auto const [begin, end] = columns::first_and_last_offset(*column.parts, rows);
  bytes.first = bytes.bytes + begin;
  bytes.end = bytes.bytes + end;
  return bytes;
}

}  // namespace gpujoin::pieces
