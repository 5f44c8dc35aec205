// append_parts.hpp: parts of a column become one column on the device.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/selection.hpp"

namespace gpujoin::transform {

// Both are queued on the stream, for the parts in the order of their rows; start: rows before this
// one. part.bits null: all are set. target: words of 32 bits.
void append_bits(base::Queue& queue, const columns::RowBits& part, uint64_t start,
                 uint32_t* target);
// Of `count` offsets of 4 or 8 bytes each and `added`, from target[start] on.
void append_offsets(base::Queue& queue, const void* offsets, int32_t width, uint64_t count,
                    int64_t added, uint64_t start, void* target);

}  // namespace gpujoin::transform
