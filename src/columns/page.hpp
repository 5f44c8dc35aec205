// page.hpp: which rows of a result a page holds.
#pragma once

#include <cstdint>

#include "gpujoin.h"

namespace gpujoin::columns {

// What `rows` rows of the page take, to hold against max_bytes.
struct PageBytes {
  uint64_t values_per_row = 0;
  uint64_t host_bitmaps = 0;    // written in whole bytes
  uint64_t device_bitmaps = 0;  // written in whole words
  uint64_t of(int64_t rows) const;
};

// A window of the result. Throws INVALID_ARGUMENT for a cursor outside of it.
struct Window {
  int64_t first_row = 0;
  int64_t rows = 0;
};
Window window_of(const gpujoin_page& page, int64_t result_rows, const PageBytes& bytes);

// Moves the cursor behind the window.
void advance(gpujoin_page& page, const Window& window);

}  // namespace gpujoin::columns
