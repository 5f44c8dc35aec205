// key_places.hpp: whether keys of a build side on a device lie close enough together to be
// addresses of its rows, before there is a join.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

// How many there are from the lowest to the highest, as a table of addresses counts them; 0: more
// than 2^32 - 1. Waits for the stream. Throws CUDA, NO_DEVICE in a build without CUDA. expected: a
// column of values of 4 or 8 bytes on the device, of which what lies beneath NULLs counts; rows.
uint64_t places_of_keys(base::Queue& queue, const columns::Relation& rows, int32_t key);

}  // namespace gpujoin::execute
