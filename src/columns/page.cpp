#include "src/columns/page.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

uint64_t TextOffsets::at(int64_t row) const {
  auto const* const place = static_cast<const std::byte*>(offsets_) + row * width_;
  std::array<std::byte, 8> bytes{};
  auto const width = static_cast<size_t>(width_);
  if (memory_ == base::Memory::kDevice) {
    base::copy(*queue_, bytes.data(), base::Memory::kHost, place, memory_, width);
    base::finish(*queue_);
  } else {
    std::memcpy(bytes.data(), place, width);
  }
  // Offsets are not negative, so that those of 4 bytes fill the lower half.
  uint64_t offset = 0;
  std::memcpy(&offset, bytes.data(), sizeof(offset));
  return offset;
}

uint64_t PageBytes::of(const Window& window) const {
  uint64_t bytes = static_cast<uint64_t>(window.rows) * values_per_row +
                   bitmap_bytes(window.rows) * host_bitmaps +
                   bitmap_words_bytes(window.rows) * device_bitmaps;
  for (TextOffsets const& text : texts) {
    auto const offsets = static_cast<uint64_t>(window.rows) + 1;
    bytes += text.bytes_of(window) + offsets * static_cast<uint64_t>(text.width());
  }
  return bytes;
}

Window window_of(const gpujoin_page& page, int64_t result_rows, const PageBytes& bytes) {
  if (page.first_row < 0 || page.first_row > result_rows) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "page.first_row is %lld and the result has %lld rows",
               static_cast<long long>(page.first_row), static_cast<long long>(result_rows));
  }
  if (page.max_rows < 0) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "page.max_rows is negative");
  int64_t most = result_rows - page.first_row;
  if (page.max_rows > 0) most = std::min(most, page.max_rows);
  // Without rows there are bytes, too: the offset behind the last row of text.
  if (most > 0 && page.max_bytes > 0 && bytes.of({page.first_row, most}) > page.max_bytes) {
    // The largest count that fits: `fits` does, `most` does not. One row is always allowed.
    int64_t fits = 0;
    while (most - fits > 1) {
      int64_t const middle = fits + (most - fits) / 2;
      (bytes.of({page.first_row, middle}) <= page.max_bytes ? fits : most) = middle;
    }
    most = std::max<int64_t>(fits, 1);
  }
  return {page.first_row, most};
}

void advance(gpujoin_page& page, const Window& window) {
  page.first_row = window.first_row + window.rows;
  page.rows = window.rows;
}

}  // namespace gpujoin::columns
