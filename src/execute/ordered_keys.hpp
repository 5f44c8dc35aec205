// ordered_keys.hpp: a column of each side as codes of 8 bytes, unsigned, whose order is the values'
// on both sides, whatever their types, units and scales.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/key_codes.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// Whether the values of both columns have one order: see src/keys/ordered_key.hpp.
bool have_order(const columns::ColumnView& left, const columns::ColumnView& right);

struct OrderedSide {
  const columns::Relation& relation;
  const columns::ColumnView& column;
};

// What the difference of two codes is.
enum class CodeDistance {
  kUnits,   // of the values, in units of the finer column
  kFloats,  // nothing: the codes are those of floats (kernels::float_of_code)
  kRanks,   // nothing: the codes are places in `values`
};

struct OrderedKeys {
  // UINT64, where the executor reads, with the validity of the columns. Of a NULL the code is any.
  columns::ColumnView left;
  columns::ColumnView right;
  CodeDistance distance = CodeDistance::kUnits;
  uint64_t greatest = ~uint64_t{0};  // codes above it are of NaN, which is equal to NaN
  columns::Storage values;           // kRanks: [distinct] kernels::LongNumber
  Held held;                         // what all of it lies in
};

// expected: columns that have an order. Queued on the stream; waits for it only where values may
// lie too far apart for 8 bytes.
OrderedKeys order_keys(base::Queue& queue, plan::Device device, const OrderedSide& left,
                       const OrderedSide& right);

// Whether codes are needed: plain columns of 8 bytes where the executor reads are as good, with
// these bits turned in each value.
std::optional<uint64_t> ordered_as_they_are(plan::Device device, const columns::ColumnView& left,
                                            const columns::ColumnView& right);

}  // namespace gpujoin::execute
