// result_pages.hpp: a result of any size in buffers of bounded size
#pragma once

#include <cstdint>
#include <vector>

#include "bench/library.hpp"

namespace gpujoin::bench {

// Rows that are checked at one time, which bounds the memory that the check needs.
inline constexpr int64_t kPageRows = int64_t{1} << 25;

// Calls each_page(rows) for one page of the result after the other, fetched into the same buffers.
template <class EachPage>
void fetch_pages(gpujoin_result* result, std::vector<gpujoin_fetch>& fetches,
                 const EachPage& each_page) {
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = kPageRows;
  while (true) {
    call("fetch the result", gpujoin_result_fetch, result, &page, fetches.data(),
         static_cast<int32_t>(fetches.size()));
    if (page.rows == 0) return;
    for (const gpujoin_fetch& fetch : fetches) {
      if (fetch.null_count != 0) throw std::runtime_error("the result has NULLs");
    }
    each_page(static_cast<uint64_t>(page.rows));
  }
}

}  // namespace gpujoin::bench
