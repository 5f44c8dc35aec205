// squeeze_pages.hpp: output that was written by pages made contiguous.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/output/squeeze_pages.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::papers {

// Pages that are partly filled, on the device.
struct PageTails {
  const unsigned long long* tails;  // [count] first empty place of each, in any order
  uint64_t count;
  uint64_t holes;  // empty places in them
  uint32_t page_rows;
};

// Fills the holes below `rows`, all rows that there are, with what lies beyond. Queued on the
// stream.
void squeeze_pages(base::Queue& queue, const PageTails& pages, uint64_t rows,
                   std::span<const kernels::SqueezedColumn> columns);

}  // namespace gpujoin::papers
