// packed_keys.hpp: on the CPU, codes in the place of the columns of a key, where these fit one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/pack_keys.hpp"
#include "src/execute/column_work.hpp"

namespace gpujoin::execute {

// The key columns of one side. `held` keeps what is made.
struct PackedSide {
  std::vector<cpu::KeySource> columns;
  uint64_t rows = 0;
  Held* held;

  bool has_nulls() const;
};

// A column of codes for each side, NULL where a column is; equal exactly where all columns are.
// Nothing where the columns take more bits, where there are so few rows that looking at them is no
// gain, and where there is no room for the codes.
std::optional<std::pair<columns::ColumnView, columns::ColumnView>> pack_keys(
    base::Queue& queue, const PackedSide& left, const PackedSide& right);

// The same by a look at one side alone, whose codes no row of another one has where the keys
// differ. Nothing also where the column is a lone one.
struct PackedBuild {
  keys::KeyEncoding encoding;
  columns::ColumnView codes;
};
std::optional<PackedBuild> pack_build(base::Queue& queue, const PackedSide& build);
// Of other sides. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
columns::ColumnView codes_of(base::Queue& queue, const PackedSide& side,
                             const keys::KeyEncoding& encoding);

}  // namespace gpujoin::execute
