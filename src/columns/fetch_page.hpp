// fetch_page.hpp: a page of a result into the caller's buffers.
#pragma once

#include <span>

#include "gpujoin.h"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// Checks everything, then writes, then moves the page's cursor and fills in the null counts.
// Throws with nothing written, unless a copy itself fails. Returns when the copies are complete.
void fetch_page(const JoinResult& result, gpujoin_page& page, std::span<gpujoin_fetch> fetches);

}  // namespace gpujoin::columns
