// ordered_key.hpp: how two columns whose values have an order become codes that have it.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/keys/ordered_key.hpp"
#include "src/base/memory.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::keys {

// What is made of each side's values. Without their places.
struct Ordering {
  kernels::OrderedKey left;
  kernels::OrderedKey right;
};

// Nothing: the values have no order among them, or not the same: text, binary values, UUIDs,
// intervals, bits with numbers. Integers and decimals of any widths, signs and scales; floats of
// any widths; times, durations, dates and timestamps of any units (a timestamp with a zone with no
// other); bits; NULL columns with all of these.
std::optional<Ordering> order_by(const columns::ColumnView& left, const columns::ColumnView& right);

// Of kLong: the least and the greatest value.
struct Extremes {
  bool any = false;
  kernels::LongNumber least = {};
  kernels::LongNumber greatest = {};

  void add(const kernels::LongNumber& value) {
    if (!any || kernels::is_less(value, least)) least = value;
    if (!any || kernels::is_less(greatest, value)) greatest = value;
    any = true;
  }
  void add(const Extremes& other) {
    if (!other.any) return;
    add(other.least);
    add(other.greatest);
  }
  // Whether 8 bytes tell them apart.
  bool fits() const;
};

// Of values that 8 bytes do not tell apart: each one's place among those of both sides.
struct Ranks {
  base::Buffer left;    // [left rows] uint64; of a NULL 0
  base::Buffer right;   // [right rows]
  base::Buffer values;  // [distinct] kernels::LongNumber
};

}  // namespace gpujoin::keys
