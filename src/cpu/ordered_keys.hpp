// ordered_keys.hpp: codes that have the order of a key column's values: on the CPU.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/ordered_key.hpp"

namespace gpujoin::cpu {

// [rows] codes; of a NULL any. kLong: expected to fit, above key.least.
void order_keys(Workers& workers, const kernels::OrderedKey& key, uint64_t rows, uint64_t* codes);

// Of kLong: between which values those that are not NULL lie.
keys::Extremes extremes(Workers& workers, const kernels::OrderedKey& key, uint64_t rows);

// Of kLong: for values that lie farther apart than 8 bytes tell.
keys::Ranks rank_keys(base::Queue& queue, Workers& workers, const kernels::OrderedKey& left,
                      uint64_t left_rows, const kernels::OrderedKey& right, uint64_t right_rows);

}  // namespace gpujoin::cpu
