// make_filter.hpp: a filter of the keys of many rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/filters/filter.hpp"

namespace gpujoin::filters {

// Rows that are read more than once.
class KeySource {
 public:
  virtual ~KeySource() = default;
  virtual int64_t rows() const = 0;
  // Calls body with the key columns of all rows, some at a time: in host memory, of kValues, kWide,
  // kBits, kText or kNulls.
  using Body = std::function<void(std::span<const columns::ColumnView> keys, int64_t rows)>;
  virtual void read(base::Queue& queue, const Body& body) const = 0;
};

// keys: the columns without data, 1 to kMostKeys. Hashes on all threads of the CPU executor. Throws
// UNSUPPORTED for a wish that the keys have not, MEMORY_LIMIT, OUT_OF_MEMORY, CANCELLED, and what
// reading does.
std::shared_ptr<const Filter> make_filter(base::Queue& queue, std::vector<columns::ColumnView> keys,
                                          std::vector<int32_t> key_flags, const Wish& wish,
                                          const KeySource& source);

}  // namespace gpujoin::filters
