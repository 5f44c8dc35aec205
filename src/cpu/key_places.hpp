// key_places.hpp: what is put out of a build side's rows, each at its key's number.
//
//   | row of the lowest key | of the next number | ... |     a number that is no key's is not set
//
// Source   tables that keys address ("perfect hash joins"), with rows in the place of their numbers
//
// A list that says where a key's row lies (key_bits.hpp), and the columns that are read there, are
// each a line from memory of every probe row with a match, where neither stays in a cache. A row
// with all its values at its key's number is one. For that the build side is moved, once, to places
// in no order: with many more build rows than probe rows, or few matches, that costs more.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/row_layout.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Null: there is no room. keys: of all rows, unique. layout: of rows without their key.
base::Buffer place_rows(base::Queue& queue, Workers& workers, const KeyBits& keys,
                        const RowLayout& layout, uint64_t rows);

}  // namespace gpujoin::cpu
