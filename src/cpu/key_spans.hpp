// key_spans.hpp: how far apart the keys of rows near each other lie, by a few of them.
#pragma once

#include <cstdint>

#include "src/columns/column.hpp"

namespace gpujoin::cpu {

// Numbers from the lowest to the highest of a few keys of all rows, at equal distances: no more
// than all of them span. 0: all were NULL. key: of 4 or 8 bytes, signed.
uint64_t drawn_span(const columns::ColumnView& key, uint64_t rows);

// The same of windows of 2^14 rows, half of which span no more. 2048 keys are read, up to 0.2 ms
// where none is in a cache.
uint64_t usual_window_span(const columns::ColumnView& key, uint64_t rows);

}  // namespace gpujoin::cpu
