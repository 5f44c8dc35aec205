// fetch_page.hpp: a page of a result into the caller's buffers.
#pragma once

#include <cstdint>
#include <span>

#include "gpujoin.h"
#include "src/base/queue.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// Queues wide[i] = rows[i] on the queue's stream, all in device memory.
using WidenOnDevice = void (*)(base::Queue& queue, const uint32_t* rows, uint64_t count,
                               int64_t* wide);

// Checks everything, then writes, then moves the page's cursor and fills in the null counts.
// Throws with nothing written, unless a copy itself fails. Returns when the copies are complete.
// widen: called on CUDA contexts only.
void fetch_page(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                std::span<gpujoin_fetch> fetches, WidenOnDevice widen);

}  // namespace gpujoin::columns
