// pack_values.hpp: byte strings of up to seven bytes as integers, which need no table to compare.
#pragma once

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::cpu {

// [rows] uint64: a value's bytes, the last one lowest, and its length in the upper byte; of a NULL
// 0. So values of one length are in their order, and those that begin alike in a small range.
// may_fill_words: 8 bytes are a value, too, if the first one is no length of a shorter one, as of
// text it hardly is. Empty where a value is longer, which is soon found. Of a column in host memory
// with rows. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
base::Buffer pack_values(base::Queue& queue, Workers& workers, const keys::InternedSide& side,
                         bool may_fill_words);

}  // namespace gpujoin::cpu
