// page.hpp: which rows of a result a page holds.
#pragma once

#include <cstdint>
#include <vector>

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// A window of the result.
struct Window {
  int64_t first_row = 0;
  int64_t rows = 0;
};

// Where the text of a result column's rows begins.
class TextOffsets {
 public:
  // memory: of the offsets. Those of device memory come to the host one by one, when they are asked
  // for.
  TextOffsets(base::Queue& queue, base::Memory memory, const ResultColumn& column)
      : TextOffsets(queue, memory, column.offsets.get(), column.offset_width) {}
  TextOffsets(base::Queue& queue, base::Memory memory, const void* offsets, int32_t width)
      : queue_(&queue), memory_(memory), offsets_(offsets), width_(width) {}

  int32_t width() const { return width_; }
  // expected: row <= rows, and there are any.
  uint64_t at(int64_t row) const;
  uint64_t bytes_of(const Window& window) const {
    return window.rows == 0 ? 0 : at(window.first_row + window.rows) - at(window.first_row);
  }

 private:
  base::Queue* queue_;
  base::Memory memory_;
  const void* offsets_;
  int32_t width_;
};

// What a page takes, to hold against max_bytes.
struct PageBytes {
  uint64_t values_per_row = 0;
  uint64_t host_bitmaps = 0;    // written in whole bytes
  uint64_t device_bitmaps = 0;  // written in whole words
  std::vector<TextOffsets> texts = {};
  uint64_t of(const Window& window) const;
};

// Throws INVALID_ARGUMENT for a cursor outside of the result.
Window window_of(const gpujoin_page& page, int64_t result_rows, const PageBytes& bytes);

// Moves the cursor behind the window.
void advance(gpujoin_page& page, const Window& window);

}  // namespace gpujoin::columns
