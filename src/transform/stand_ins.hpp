// stand_ins.hpp: values that stand for NULL while columns are moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/device_column.hpp"

namespace gpujoin::transform {

struct StandIn {
  uint64_t value = 0;  // the low 8 bytes; those above are 0
  bool has_nulls = true;
};

// Whether columns of the width have one: narrower values may all be taken.
inline bool has_stand_in(int32_t width) { return width == 4 || width == 8 || width == 16; }

// A value that hardly any column has: who moves a column with it has to look whether one of its
// rows does. The same for a context.
uint64_t draw_stand_in(const base::Queue& queue);
// What moving columns with such values told of each; see prepare_nullable. Waits for the stream.
struct SeenNulls {
  bool any = false;
  bool stand_in_is_taken = false;  // by a valid row
};
std::vector<SeenNulls> seen_nulls(base::Queue& queue, const uint32_t* seen, size_t columns);
// Of each column a value that none of its valid rows has in its low bytes. The values are drawn, 32
// at a time, until there is one. Waits for the stream. expected: columns with validity, of such
// widths.
std::vector<uint64_t> find_stand_ins(base::Queue& queue,
                                     std::span<const columns::DeviceColumn* const> columns,
                                     int64_t rows);

}  // namespace gpujoin::transform
