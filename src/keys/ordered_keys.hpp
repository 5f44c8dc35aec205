// ordered_keys.hpp: codes that have the order of a key column: on the GPU. The CPU has its own in
// src/cpu/ordered_keys.hpp.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/keys/ordered_key.hpp"

namespace gpujoin::keys {

// [rows] codes; of a NULL any. kLong: expected to fit, above key.least. Queued on the stream.
void order_keys(base::Queue& queue, const kernels::OrderedKey& key, uint64_t rows, uint64_t* codes);

// Of kLong: between which values those that are not NULL lie. Waits for the stream.
Extremes extremes(base::Queue& queue, const kernels::OrderedKey& key, uint64_t rows);

// Of kLong: for values that lie farther apart than 8 bytes tell. Waits for the stream.
Ranks rank_keys(base::Queue& queue, const kernels::OrderedKey& left, uint64_t left_rows,
                const kernels::OrderedKey& right, uint64_t right_rows);

}  // namespace gpujoin::keys
