#include "src/columns/page.hpp"

#include <algorithm>

#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

uint64_t PageBytes::of(int64_t rows) const {
  return static_cast<uint64_t>(rows) * values_per_row + bitmap_bytes(rows) * host_bitmaps +
         bitmap_words_bytes(rows) * device_bitmaps;
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
  if (page.max_bytes > 0 && bytes.of(most) > page.max_bytes) {
    // The largest count that fits: `fits` does, `most` does not. One row is always allowed.
    int64_t fits = 0;
    while (most - fits > 1) {
      int64_t const middle = fits + (most - fits) / 2;
      (bytes.of(middle) <= page.max_bytes ? fits : most) = middle;
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
