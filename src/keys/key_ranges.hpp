// key_ranges.hpp: between which values the keys of both sides lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/device_column.hpp"
#include "src/keys/encoding.hpp"

namespace gpujoin::keys {

struct KeyColumns {
  std::span<const columns::DeviceColumn> columns;
  int64_t rows = 0;
};

// One of each column.
struct KeyRanges {
  std::vector<ColumnRange> left;
  std::vector<ColumnRange> right;
  bool of_all_rows = true;  // or of rows that were drawn

  std::vector<ColumnRange> of_both() const;
};

enum class AskedRows { kAll, kDrawn };

// Rows of a side that are drawn at most; of a smaller side all are asked. They lie in stripes of
// 256, the first and the last of the side among them.
inline constexpr int64_t kDrawnRows = int64_t{1} << 17;

// Rows with a NULL in any key do not count. Both sides have as many columns, of the same widths.
// Waits for the launch.
KeyRanges key_ranges(base::Queue& queue, const KeyColumns& left, const KeyColumns& right,
                     AskedRows asked);

}  // namespace gpujoin::keys
