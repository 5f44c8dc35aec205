// key_filter.hpp: rows of a large side whose keys the other side cannot have, told before they are
// moved.
//
// A bit for each hash of a key of the other side, of eight to sixteen a row (Bloom, CACM 1970, with
// one hash): what has no such bit has no match. A key that passes by chance, one of ten, is moved
// and finds nothing.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Of more rows the bits are in no cache.
inline constexpr uint64_t kMostFilterRows = uint64_t{1} << 19;

// Validity of `rows` rows of `key`, in which those are not valid that have no match among the
// others. Empty where more than half of them may have one. expected: keys of the same width,
// other_rows is at most kMostFilterRows. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
base::Buffer rows_that_may_match(base::Queue& queue, Workers& workers,
                                 const columns::ColumnView& key, uint64_t rows,
                                 const columns::ColumnView& other_key, uint64_t other_rows);

}  // namespace gpujoin::cpu
