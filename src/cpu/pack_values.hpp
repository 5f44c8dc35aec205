// pack_values.hpp: byte strings of which few bytes differ as integers, which need no table to
// compare.
#pragma once

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/interned_side.hpp"

namespace gpujoin::cpu {

// [rows] uint64 of each side, equal exactly where the values are: a value's bytes, the last one
// lowest, and its length in the upper byte; of a NULL 0. So values of one length are in their
// order, and those that begin alike in a small range. may_fill_words: 8 bytes are a value, too, if
// the first one is no length of a shorter one, as of text it hardly is.
//
// may_share: of longer values what all of both sides begin with is left out, as little as is
// needed. A drawn value says what, and each of them is compared with it.
struct PackedValues {
  base::Buffer of_left;
  base::Buffer of_right;
};

// Empty where values are longer, or begin otherwise, which is soon found. Of columns in host memory
// with rows. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
PackedValues pack_values(base::Queue& queue, Workers& workers, const keys::InternedSide& left,
                         const keys::InternedSide& right, bool may_fill_words, bool may_share);

}  // namespace gpujoin::cpu
